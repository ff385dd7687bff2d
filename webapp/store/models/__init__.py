"""The tables, as typed models."""

# ruff: noqa: F401 - what others import from here

from webapp.store.db.types import Base
from webapp.store.models.dumps import (
    ANSWERS_MISSING,
    Declaration,
    Dump,
    DumpSession,
    LiveLog,
    LiveSpan,
    Parse,
    Task,
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
    TURNS_A_SESSION,
    FacetValue,
    Finding,
    Session,
    SessionFacet,
    Turn,
    is_response,
    turns_of,
)
