"""How far a profile was run over the responses in view: not at all, over some of them, or over all."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import installing
from webapp.store.sessions import facets, sessions
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.where import OF_PARSE, View
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


def of_counts(profile: str, parses: dict[str, int]) -> ProfileCoverage:
    """Of how many parses each profile has. Every response is parsed by `fencepost` as it comes."""
    parser = parsing.profiles().get(profile)
    reason = installing.reason(parser) if parser else f"no profile is called {profile!r}"
    return ProfileCoverage(profile, parses.get(profile, 0), parses.get(OURS, 0), reason)


def parses(db: orm.Session, view: View, profiles: Collection[str], *without: str) -> dict[str, int]:
    """How many parses of each of these profiles the sessions in view have."""
    names = {f"verdict {profile}": profile for profile in (*profiles, OURS)}
    counts: dict[str, int] = {}
    for name, _, _, count in facets.sums(db, view, list(names), without):
        counts[names[name]] = counts.get(names[name], 0) + count
    return counts


def under(db: orm.Session, filters: Filters) -> ProfileCoverage | None:
    """As `of_view`; None, too, where no filter looks under a profile."""
    if filters.under == HOME or not any((filters.verdict, filters.strategy, filters.repair)):
        return None
    return of_view(db, sessions.view(db, filters))


def of_view(db: orm.Session, view: View) -> ProfileCoverage | None:
    """How far the profile that the filters look under was run over what the other filters leave; None for home."""
    profile = view.filters.under
    return None if profile == HOME else of_counts(profile, parses(db, view, [profile], *OF_PARSE))


def every(db: orm.Session) -> dict[str, ProfileCoverage]:
    """How far each profile was run over all sessions."""
    counts = parses(db, View(Filters()), parsing.profiles())
    return {name: of_counts(name, counts) for name in parsing.profiles()}
