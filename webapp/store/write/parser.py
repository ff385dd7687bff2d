"""The parser that a session's own program used, and who said so; responses parsed for the store under it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from webapp.parsing import Trace, engine

UNKNOWN = "unknown"
"""stands where a profile's name would, of a session whose parser nobody named; no profile is called so"""
DECLINED = "declined"
"""the source of an unknown home that somebody was asked for and left open: nobody is asked again"""


class Home(NamedTuple):
    """`source` is who named the profile: told (a person, a command or the dump itself), the format, a remembered
    rule, the program that the dump names, the setting; or unknown, and declined where it was left so."""

    profile: str
    source: str

    @property
    def known(self) -> bool:
        return self.profile != UNKNOWN


READ_AS = "direct"
"""what an unknown parser is read as: `json.loads`"""


ALL_THE_SAME = ("clean", "none")
"""verdicts of `fencepost` for a text that no parser need be known for: plain JSON, and prose that offers none"""


def read_as_json(ours: str) -> str:
    """The verdict of `json.loads` on what `fencepost` gave the verdict `ours`; prose that offers no JSON is none."""
    return ours if ours in ALL_THE_SAME else "failed"


NOT_KNOWN = Home(UNKNOWN, UNKNOWN)


OURS = "fencepost"
_MOST_KEPT = 256
_LONGEST_KEPT = 16 * 1024


def is_known(name: str) -> bool:
    """Whether there is a profile of that name."""
    try:
        engine.profile(name)
    except engine.UnknownProfile:
        return False
    return True


class SessionParser:
    """Runs the profiles of one session, of the `names`; texts that come again soon are not parsed again."""

    def __init__(self, home: str) -> None:
        profiles = {name: engine.profile(name) for name in ((OURS,) if home == UNKNOWN else (home, OURS))}

        def parsed(raw: str, name: str) -> Trace:
            return engine.parse(raw, profiles[name])

        self.names = tuple(profiles)
        self._parsed, self._remembered = parsed, lru_cache(maxsize=2 * _MOST_KEPT)(parsed)

    def trace(self, raw: str, name: str) -> Trace:
        """What one of the profiles makes of a text."""
        return self._remembered(raw, name) if len(raw) <= _LONGEST_KEPT else self._parsed(raw, name)

    def traces(self, raw: str) -> tuple[Trace, ...]:
        """The trace of the home profile if it is known, then `fencepost`'s where that is another."""
        return tuple(self.trace(raw, name) for name in self.names)
