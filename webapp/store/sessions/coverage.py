"""How far a profile was run over the responses in view: not at all, over some of them, or over all."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import installing
from webapp.store import index
from webapp.store.index.bit_sliced_index import Bits
from webapp.store.index.state import State
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.narrowing import Narrowed
from webapp.store.write.parser import OURS


@dataclass(frozen=True, slots=True)
class ProfileCoverage:
    """A profile was run over `run` of `of` responses; `absent` says why it cannot run here, with the command."""

    profile: str
    run: int
    of: int
    absent: str | None = None

    @property
    def is_whole(self) -> bool:
        return self.run >= self.of

    @property
    def reason(self) -> str | None:
        """In words why there is no number, or a partial one; None where there is nothing to say."""
        if self.is_whole:
            return None
        if self.absent:
            return f"not run: {self.absent}"
        return f"run over {self.run:,} of {self.of:,} responses" if self.run else f"not run over {self.of:,} responses"


def of_view(state: State, view: Bits, profile: str) -> ProfileCoverage:
    """How far a profile was run over the sessions of a view. Every response is parsed by `fencepost` as it comes."""
    run, of = (_parses(state, view, name) for name in (profile, OURS))
    parser = parsing.profiles().get(profile)
    return ProfileCoverage(
        profile, run, of, installing.reason(parser) if parser else f"no profile is called {profile!r}"
    )


def under(db: orm.Session, filters: Filters) -> ProfileCoverage | None:
    """As `of_narrowed`; None, too, where no filter looks under a profile."""
    if filters.under == HOME or not any((filters.verdict, filters.strategy, filters.repair)):
        return None
    return of_narrowed(sessions.narrowed(db, filters))


def of_narrowed(narrowed: Narrowed) -> ProfileCoverage | None:
    """How far the profile that the filters look under was run over what the other filters leave; None for home."""
    if narrowed.filters.under == HOME:
        return None
    return of_view(narrowed.state, narrowed.without("verdict", "strategy", "repair"), narrowed.filters.under)


def every(db: orm.Session) -> dict[str, ProfileCoverage]:
    """How far each profile was run over all sessions."""
    state = index.current(db)
    return {name: of_view(state, state.alive, name) for name in parsing.profiles()}


def _parses(state: State, view: Bits, profile: str) -> int:
    return sum(column.total(view) for column in state.columns("verdict", profile).values())
