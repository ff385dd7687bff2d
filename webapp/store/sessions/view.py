"""What filters leave in view, as conditions that any question about sessions can take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from webapp.store.models import Session
from webapp.store.sessions.filters import NARROWING, Filters
from webapp.store.sessions.where import Condition, conditions


@dataclass(frozen=True, slots=True)
class View:
    """Filters, and the sessions that hold what is searched for: `matching`, None where nothing is.

    With `open_ended` these are the newest of more. The filters `may_hold` are those of a response that another session
    may hold, too: of sessions they do not ask.
    """

    filters: Filters
    matching: tuple[int, ...] | None = None
    open_ended: bool = False
    may_hold: frozenset[str] = frozenset()

    def where(self, *without: str) -> list[Condition]:
        """What holds of a session in view; the filters `without` are left out."""
        found = [] if self.matching is None else [Session.id.in_(self.matching)]
        return [*conditions(self.filters, without={*without, *self.may_hold}), *found]

    def only(self, name: str) -> list[Condition]:
        """What one filter asks for; nothing where it is not set."""
        return conditions(self.filters, only=(name,))[1:]

    def ids(self, *without: str) -> sa.Select[Any]:
        """The numbers of the sessions in view."""
        return sa.select(Session.id).where(*self.where(*without))

    def is_narrowed(self, *without: str) -> bool:
        """Whether anything but deletion keeps a session out of view."""
        left_out = {*without, *self.may_hold}
        set_ones = {name for name in NARROWING if getattr(self.filters, name) not in (None, False)}
        return self.matching is not None or bool(set_ones - left_out)
