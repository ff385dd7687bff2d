"""Entries put aside on disk and taken back by session, in an order of their own: only places stay in memory."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from webapp import jsontext
from webapp.dumps.base import Entry


@dataclass(slots=True)
class Shelf:
    """The entries of interleaved sessions; each is kept with its place and a whole number to sort by."""

    file: BinaryIO
    _sessions: dict[str, tuple[array[int], array[int]]] = field(default_factory=dict)

    def put(self, session: str, order: int, at: str, value: dict[str, Any]) -> None:
        """Keep `value`; of equal `order` (63 bits) the first put comes first."""
        orders, places = self._sessions.setdefault(session, (array("q"), array("Q")))
        orders.append(max(-(2**63), min(order, 2**63 - 1)))
        places.append(self.file.seek(0, 2))
        self.file.write(jsontext.dumps([at, value]).encode("ascii") + b"\n")

    def rename(self, names: dict[str, str]) -> None:
        """Call sessions by other names; those that get the same one become one session."""
        merged: dict[str, tuple[array[int], array[int]]] = {}
        for name, (orders, places) in self._sessions.items():
            into = merged.setdefault(names.get(name, name), (array("q"), array("Q")))
            into[0].extend(orders)
            into[1].extend(places)
        self._sessions = merged

    def sessions(self) -> Iterator[tuple[str, Iterator[Entry]]]:
        """Each session with its entries in order, sessions as they were first met."""
        for name, (orders, places) in self._sessions.items():
            ranks = sorted(range(len(orders)), key=orders.__getitem__)
            yield name, (self._taken(places[rank]) for rank in ranks)

    def _taken(self, place: int) -> Entry:
        self.file.seek(place)
        at, value = jsontext.loads(self.file.readline())
        return at, value


@contextmanager
def shelf() -> Iterator[Shelf]:
    """An empty shelf; what it holds is gone afterwards."""
    with tempfile.TemporaryFile() as file:
        yield Shelf(file)
