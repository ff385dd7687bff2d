"""Chat examples for fine-tuning, one JSON line each: the broken response as question, its expected value as answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat
from webapp.exports.labelled import LabelledResponse, meant, origin

TASK = (
    "Give the JSON that this text means, unchanged but for what makes it invalid: one value a line."
    " Give nothing where no JSON is meant."
)


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    for response, label, values in meant(responses, about.left_out):
        example = {"messages": _messages(response.raw, values), "metadata": origin(response, label)}
        yield f"{jsontext.portable(example)}\n".encode("ascii")


def _messages(raw: str, values: list[Any]) -> list[dict[str, str]]:
    answer = "\n".join(jsontext.portable(value) for value in values)
    return [
        {"role": "system", "content": TASK},
        {"role": "user", "content": raw},
        {"role": "assistant", "content": answer},
    ]


plugin = ExportFormat("fine-tuning", "labels", ".jsonl", "application/jsonl", pieces)
