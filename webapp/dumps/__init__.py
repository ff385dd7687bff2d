"""Dumps: a file in any known format becomes sessions, turns and problems; pure."""

from webapp.dumps.reading import known_formats, read, session_keys, sniff
from webapp.dumps.records import BadDump, Problem, Record, SessionStart, TooLarge, Turn, UnknownFormat
from webapp.dumps.spool import Spooled, spool

__all__ = [
    "BadDump",
    "Problem",
    "Record",
    "SessionStart",
    "Spooled",
    "TooLarge",
    "Turn",
    "UnknownFormat",
    "known_formats",
    "read",
    "session_keys",
    "sniff",
    "spool",
]
