"""Parses responses for the store, under the home profile and `fencepost`, once for each distinct text in a while."""

from __future__ import annotations

from functools import lru_cache

from webapp.parsing import Trace, engine
from webapp.store.write.home import UNKNOWN

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
