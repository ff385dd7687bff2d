"""What statistics say, as data: bars, each with the filters that lead to the sessions behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from webapp.store.sessions.coverage import ProfileCoverage
from webapp.store.sessions.filters import Filters
from webapp.store.statistics.model_card import CardLine


@dataclass(frozen=True, slots=True)
class Entry:
    """One bar: `count` of `of` responses, in `sessions` sessions, which `filters` lead to."""

    value: str
    count: int
    of: int
    sessions: int
    filters: Filters

    @property
    def share(self) -> float:
        """Of `of`, from 0 to 1."""
        return self.count / self.of if self.of else 0.0


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the parses took that `strategy` won, in microseconds; "" stands for those that nothing won.

    `median` and `p95` are upper bounds: the next power of two.
    """

    strategy: str
    parses: int
    mean: float
    median: int
    p95: int
    filters: Filters


@dataclass(frozen=True, slots=True)
class ProfileFigures:
    """What one profile made of the responses in view.

    `home_sessions` counts the sessions whose home profile it is. `verdicts` are in the order of `VERDICTS`, zeros
    included. `strategies` say how often each won, `tried` how many candidates it offered.
    """

    profile: str
    home_sessions: int
    responses: int
    verdicts: list[Entry]
    strategies: list[Entry]
    tried: dict[str, int]
    repairs: list[Entry]
    timings: list[Timing]


@dataclass(frozen=True, slots=True)
class OfModel:
    """What came of one model's responses, under their home profiles and under `fencepost`; zeros included."""

    model: str
    sessions: int
    responses: int
    home: list[Entry]
    fencepost: list[Entry]
    filters: Filters


@dataclass(frozen=True, slots=True)
class Bucket:
    """What came in from `start` until before `end`; `verdicts` are under the home profile, zeros included.

    Without sessions there are none. Of `unknown` responses nobody has named the parser: they are read as `json.loads`.
    """

    start: datetime
    end: datetime
    sessions: int
    responses: int
    failed: int
    rescued: int
    verdicts: list[Entry]
    filters: Filters
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Statistics:
    """All of it. `sessions` match and `hidden` do not; `failed` and `rescued` count responses, in production.

    `step` is what a bucket is: hour, day, week, month, quarter or year; there are at most 40, those without a session
    included. `coverage` says of every profile how far it was run over what is in view: one that was not has no figures.
    `models` and `errors` are the 50 with most responses, `more_models` and `more_errors` count the others.
    Of `unknown` responses nobody has named the parser: they are read as `json.loads`. `cards` is the model card.
    """

    sessions: int
    hidden: int
    turns: int
    responses: int
    failed: int
    rescued: int
    profiles: list[ProfileFigures]
    models: list[OfModel]
    more_models: int
    errors: list[Entry]
    more_errors: int
    step: str
    over_time: list[Bucket]
    coverage: list[ProfileCoverage] = field(default_factory=list)
    unknown: int = 0
    cards: list[CardLine] = field(default_factory=list)
    more_cards: int = 0

    @property
    def not_run(self) -> list[ProfileCoverage]:
        """The profiles that were run over nothing of what is in view."""
        return [of_profile for of_profile in self.coverage if of_profile.of and not of_profile.run]

    def partly(self, profile: str) -> ProfileCoverage | None:
        """How far a profile was run that was not run over all of it."""
        partial = (coverage for coverage in self.coverage if not coverage.is_whole)
        return next((coverage for coverage in partial if coverage.profile == profile), None)
