"""Which facts of a response a log carries: those that no response of a dump has are told as not in this log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from webapp.dumps.records import Turn

WORDS = {
    "arguments_written": "arguments as the model wrote them",
    "declared": "declared tools and response format",
    "cap": "token cap",
    "stop": "stop reason",
    "host": "provider or host",
    "tokens_in": "tokens in",
    "tokens_out": "tokens out",
    "tokens_reasoning": "reasoning tokens",
}
"""what a log may lack, by the names of the API"""


def facts_of(turn: Turn) -> Iterator[tuple[str, str]]:
    """The columns of docs/formats.md that a turn that a model wrote fills, each with its word."""
    declared = turn.declared or {}
    yield "text" if turn.kind == "response" else "arguments", turn.arguments or "yes"
    tokens = {"in": turn.tokens_in, "out": turn.tokens_out, "reasoning": turn.tokens_reasoning}
    yield from (("tokens", name) for name, count in tokens.items() if count is not None)
    facts = {"declared": declared.keys() - {"max_tokens"}, "cap": declared.get("max_tokens")}
    facts |= {"stop": turn.stop, "host": turn.host}
    yield from ((name, "yes") for name, fact in facts.items() if fact)


@dataclass(slots=True)
class Carried:
    """What the responses of a dump carried so far."""

    facts: set[tuple[str, str]] = field(default_factory=set)

    def see(self, turn: Turn) -> None:
        """Another turn was read."""
        if turn.written_by_model:
            self.facts.update(facts_of(turn))

    def missing(self) -> list[str] | None:
        """The names in `WORDS` that no response has; None before the first response."""
        if not self.facts:
            return None
        present = {name for column, word in self.facts for name in (column, f"{column}_{word}")}
        if (
            "arguments_decoded" not in present or "arguments_free" in present
        ):  # nothing is lost where nothing was decoded
            present.add("arguments_written")
        return [name for name in WORDS if name not in present]


def in_words(missing: Iterable[str]) -> str:
    """`declared tools and response format, stop reason`."""
    return ", ".join(WORDS[name] for name in missing)
