"""The tables, as typed models."""

# ruff: noqa: F401 - what others import from here

from webapp.store.models.base import TURNS_A_SESSION, Base, turns_of
from webapp.store.models.dumps import Dump, DumpSession, LiveLog, LiveSpan, Task
from webapp.store.models.parses import (
    Declaration,
    Parse,
    TurnContract,
    contract_state,
    has_failed,
    has_mark,
)
from webapp.store.models.people import (
    Account,
    ApiToken,
    AuditEntry,
    Compared,
    DatabaseSecret,
    FailedResponse,
    FailureEvent,
    FinalLabel,
    Label,
    LabelEvent,
    SavedItem,
)
from webapp.store.models.sessions import (
    MODEL_KINDS,
    FacetValue,
    Finding,
    Session,
    SessionFacet,
    Turn,
    is_response,
)
