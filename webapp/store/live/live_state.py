"""What growing a session by spans needs of all that is stored of it."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.store.live.reading import Tail
from webapp.store.write import state_cache


@dataclass(slots=True)
class LiveState(state_cache.GrownState):
    """A session's state with the `tail` that its last spans left; `searched`: its texts are in the index."""

    searched: bool
    tail: Tail | None = None

    @property
    def size(self) -> int:
        return state_cache.size_of(self.session) + (self.tail.size if self.tail else 0)
