"""Parses responses for the store, under the home profile and `fencepost`, once for each distinct text in a while."""

from __future__ import annotations

from collections import OrderedDict

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
        self._profiles = [engine.profile(name) for name in names]
        self._kept: OrderedDict[str, tuple[Trace, ...]] = OrderedDict()

    def traces(self, raw: str) -> tuple[Trace, ...]:
        """The trace of the home profile if it is known, then `fencepost`'s where that is another."""
        traces = self._kept.get(raw)
        if traces is None:
            traces = tuple(engine.parse(raw, profile) for profile in self._profiles)
            self._keep(raw, traces)
        return traces

    def _keep(self, raw: str, traces: tuple[Trace, ...]) -> None:
        if len(raw) > _LONGEST_KEPT:
            return
        self._kept[raw] = traces
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
