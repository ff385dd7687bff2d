"""How the responses of a session keep what their requests declare, held as the fold sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from webapp.contracts import Contract, Holder
from webapp.dumps.records import MODEL_KINDS, Turn

BROKEN_AS_ONE = "broken"
"""the value that a session has beside the states of its responses, where one of them is broken"""
_MOST = 1_000
"""turns of one entry that are held together"""


class Placed(Protocol):
    """What is asked of a `session_state.PlacedTurn`."""

    @property
    def turn(self) -> Turn: ...
    @property
    def original(self) -> int | None: ...


class Row(NamedTuple):
    """A row of `TurnContract`."""

    turn_id: int
    state: str
    detail: dict[str, Any] | None

    @classmethod
    def of(cls, turn_id: int, contract: Contract) -> Row:
        is_plain = contract == Contract("kept", contract.tool, "request")
        return cls(turn_id, contract.state, None if is_plain else contract.as_dict())


P = TypeVar("P", bound=Placed)


class Answers(Generic[P]):
    """Gives turns on with their contracts, an entry at a time: what a text must be depends on the calls beside it."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._holder = Holder(given)
        self._open: list[P] = []

    def add(self, placed: P) -> Iterator[tuple[P, Contract | None]]:
        """Take the next turn; those of the entry before it, where it begins another."""
        if self._open and (self._open[0].turn.entry != placed.turn.entry or len(self._open) >= _MOST):
            yield from self.rest()
        self._open.append(placed)

    def rest(self) -> Iterator[tuple[P, Contract | None]]:
        """The turns that were not given yet."""
        turns, self._open = self._open, []
        own = [placed for placed in turns if placed.original is None and placed.turn.kind in MODEL_KINDS]
        contracts = dict(zip(map(id, own), self._holder.answer([placed.turn for placed in own]), strict=True))
        for placed in turns:
            yield placed, contracts.get(id(placed))
