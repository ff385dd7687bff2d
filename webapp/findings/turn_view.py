"""A turn as the rules see it, with its traces as `webapp.parsing` makes them, which is not imported here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol


class EditView(Protocol):
    @property
    def repair(self) -> str: ...


class SpanView(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class ErrorView(Protocol):
    @property
    def message(self) -> str: ...


class AttemptView(Protocol):
    """An attempt of a trace, as `webapp.parsing` makes it."""

    @property
    def span(self) -> SpanView: ...
    @property
    def outcome(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def edits(self) -> Sequence[EditView]: ...
    @property
    def error(self) -> ErrorView | None: ...


class TraceView(Protocol):
    """A trace, as `webapp.parsing` makes it."""

    @property
    def verdict(self) -> str: ...
    @property
    def attempts(self) -> Sequence[AttemptView]: ...
    @property
    def chosen(self) -> Sequence[int]: ...
    @property
    def values(self) -> Sequence[Any]: ...
    @property
    def truncated(self) -> bool: ...


class MismatchView(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def keyword(self) -> str: ...
    @property
    def message(self) -> str: ...


class ContractView(Protocol):
    """How a response keeps what its request declares, as `webapp.contracts` says it."""

    @property
    def state(self) -> str: ...
    @property
    def tool(self) -> str | None: ...
    @property
    def mismatches(self) -> Sequence[MismatchView]: ...
    @property
    def is_broken(self) -> bool: ...


class TurnView(NamedTuple):
    """One turn as the rules see it. `kind` is "again" for an entry that the logger wrote twice.

    `home` and `ours` are the traces under the home profile and `fencepost`, the same object where that is one
    profile; None where nothing was parsed. `answers` is the position of the response that an error speaks of.
    `stop` is why the model stopped ("length", "filtered" …, as `dumps.messages.beside` has them), and `most_rounds` the
    limit that the entry sets, where the log says so. `reasoning` counts the tokens of `tokens_out` that were thought,
    as the entry says; `is_error` says of a tool's result that the log calls it an error. What the log does not say is
    None.
    """

    position: int
    entry: int
    kind: str
    role: str | None = None
    agent: str | None = None
    model: str | None = None
    phase: str | None = None
    sounding: int | None = None
    round: int | None = None
    raw: str | None = None
    tool_calls: Sequence[Any] | None = None
    failure: str | None = None
    answers: int | None = None
    sent_at: datetime | None = None
    home: TraceView | None = None
    ours: TraceView | None = None
    stop: str | None = None
    most_rounds: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    reasoning: int | None = None
    is_error: bool | None = None
    contract: ContractView | None = None

    @property
    def failed(self) -> bool:
        """Whether its program could not read it: the dump records it, or its home profile failed."""
        return self.failure is not None or (self.home is not None and self.home.verdict == "failed")
