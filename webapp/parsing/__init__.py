"""Parsing with a trace: pure Python, standard library only. `from webapp.parsing import parse`."""

import webapp.parsing.profiles  # noqa: F401 - first, since importing this folder later would hide the function `profiles`
from webapp.parsing.engine import Profile, Tracer, UnknownProfile, helps, parse, profile, profiles
from webapp.parsing.trace import Attempt, Fault, Site, Trace

__all__ = [
    "Attempt",
    "Fault",
    "Profile",
    "Site",
    "Trace",
    "Tracer",
    "UnknownProfile",
    "helps",
    "parse",
    "profile",
    "profiles",
]
