"""Parsing with a trace: pure Python, standard library only. `from webapp.parsing import parse`."""

import webapp.parsing.profiles  # noqa: F401 - first, since importing this folder later would hide the function `profiles`
from webapp.parsing.engine import (
    NotInstalled,
    Profile,
    Tracer,
    UnknownProfile,
    helps,
    parse,
    profile,
    profiles,
    readings,
    refuse_absent,
    why_absent,
)
from webapp.parsing.trace import ABSENT, Attempt, Fault, Site, Trace

__all__ = [
    "ABSENT",
    "Attempt",
    "Fault",
    "NotInstalled",
    "Profile",
    "Site",
    "Trace",
    "Tracer",
    "UnknownProfile",
    "helps",
    "parse",
    "profile",
    "profiles",
    "readings",
    "refuse_absent",
    "why_absent",
]
