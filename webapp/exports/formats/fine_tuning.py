"""Chat examples for fine-tuning, one JSON line each: a broken response is asked about, its meant value answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from webapp import jsontext
from webapp.exports.base import About
from webapp.exports.labelled import Labelled, meant, origin

TASK = (
    "Give the JSON that this text means, unchanged but for what makes it invalid: one value a line."
    " Give nothing where no JSON is meant."
)


@dataclass(frozen=True)
class FineTuning:
    name: str = "fine-tuning"
    takes: Literal["labels"] = "labels"
    suffix: str = ".jsonl"
    media_type: str = "application/jsonl"

    def pieces(self, responses: Iterable[Labelled], about: About) -> Iterator[bytes]:
        for response, said, values in meant(responses):
            example = {"messages": _messages(response.raw, values), "metadata": origin(response, said)}
            yield f"{jsontext.dumps(example)}\n".encode("ascii")


def _messages(raw: str, values: list[Any]) -> list[dict[str, str]]:
    answer = "\n".join(jsontext.dumps(value) for value in values)
    return [
        {"role": "system", "content": TASK},
        {"role": "user", "content": raw},
        {"role": "assistant", "content": answer},
    ]


plugin = FineTuning()
