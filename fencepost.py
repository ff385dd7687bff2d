"""What programs import of Fencepost: `from fencepost import parse, capture, Recorder`, without Flask.

`parse(text)` reads the JSON out of a response and gives the trace; `capture` records what a parser of your own hands
to decoders; `Recorder` sends a running program's turns to a server.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from webapp import __version__
    from webapp.client import Recorder
    from webapp.parsing import Attempt, Site, Trace, UnknownProfile, parse, profile, profiles
except ImportError as error:
    import webapp

    if Path(webapp.__file__ or "").with_name("client").joinpath("journal.py").exists():
        raise
    raise ImportError(
        f"{webapp.__file__} is another package called webapp and hides Fencepost's own. In this program use what runs "
        "in a process of its own: fencepost parse --profile module:function, pytest --fencepost, or a copy of "
        "Fencepost's folder webapp/client under another name, which is the recorder alone"
    ) from error

if TYPE_CHECKING:
    from webapp.parsing.outcomes import capture, run

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
    """`capture` and `run` put hooks into decoders as soon as they are imported, and only then.

    Names that were bound before to module functions stay as they are.
    """
    if name not in ("capture", "run"):
        raise AttributeError(f"module 'fencepost' has no attribute {name!r}")
    from webapp.capture import hooks
    from webapp.parsing import outcomes

    hooks.install()
    return getattr(outcomes, name)
