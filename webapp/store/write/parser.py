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
    """Runs the profiles of one session; texts that come again soon are not parsed again."""

    def __init__(self, home: str) -> None:
        self.home = home
        names = dict.fromkeys((OURS,) if home == UNKNOWN else (home, OURS))
        profiles = [engine.profile(name) for name in names]

        def parsed(raw: str) -> tuple[Trace, ...]:
            return tuple(engine.parse(raw, profile) for profile in profiles)

        self._parsed, self._remembered = parsed, lru_cache(maxsize=_MOST_KEPT)(parsed)

    def traces(self, raw: str) -> tuple[Trace, ...]:
        """The trace of the home profile if it is known, then `fencepost`'s where that is another."""
        return self._remembered(raw) if len(raw) <= _LONGEST_KEPT else self._parsed(raw)
