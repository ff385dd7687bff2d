"""What programs import of Fencepost: `from fencepost import parse, capture, Recorder`, without Flask.

`parse(text)` reads the JSON out of a response and gives the trace; `capture` records what a parser of your own hands
to decoders; `Recorder` sends a running program's turns to a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webapp import __version__
from webapp.client import Recorder
from webapp.parsing import Attempt, Site, Trace, UnknownProfile, parse, profile, profiles

if TYPE_CHECKING:
    from webapp.parsing.inside import capture, run

__all__ = [
    "Attempt",
    "Recorder",
    "Site",
    "Trace",
    "UnknownProfile",
    "__version__",
    "capture",
    "parse",
    "profile",
    "profiles",
    "run",
]


def __getattr__(name: str) -> Any:
    """`capture` and `run` put hooks into decoders as soon as they are imported, and only then."""
    if name not in ("capture", "run"):
        raise AttributeError(f"module 'fencepost' has no attribute {name!r}")
    from webapp.parsing import inside

    inside.install()
    return getattr(inside, name)
