"""The tables, as typed models."""

from webapp.store.models.base import TURNS_A_SESSION, Base
from webapp.store.models.dumps import Dump, DumpSession, Job, Mapping
from webapp.store.models.labels import Cause, Compared, FinalLabel, Label, LabelEvent, LabelQueue, LabelQueueItem
from webapp.store.models.sessions import (
    Finding,
    LiveSpan,
    Parse,
    ParseRepair,
    Run,
    SavedView,
    Session,
    SessionModel,
    Turn,
)

__all__ = [
    "TURNS_A_SESSION",
    "Base",
    "Cause",
    "Compared",
    "Dump",
    "DumpSession",
    "FinalLabel",
    "Finding",
    "Job",
    "Label",
    "LabelEvent",
    "LabelQueue",
    "LabelQueueItem",
    "LiveSpan",
    "Mapping",
    "Parse",
    "ParseRepair",
    "Run",
    "SavedView",
    "Session",
    "SessionModel",
    "Turn",
]
