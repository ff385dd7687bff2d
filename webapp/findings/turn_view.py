"""A turn as the rules see it, with its traces and its contract; what made those is imported for their types alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from webapp.contracts.contract import Contract
    from webapp.parsing.trace import Trace


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
    home: Trace | None = None
    ours: Trace | None = None
    stop: str | None = None
    most_rounds: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    reasoning: int | None = None
    is_error: bool | None = None
    contract: Contract | None = None

    @property
    def failed(self) -> bool:
        """Whether its program could not read it: the dump records it, or its home profile failed."""
        return self.failure is not None or (self.home is not None and self.home.verdict == "failed")
