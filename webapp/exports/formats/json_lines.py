"""Exports of one JSON object a line: labels, cases for a gate, and examples for a prompt or for fine-tuning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat, LabelledResponse, expected_values, meant, origin, rows

TASK = (
    "Give the JSON that this text means, unchanged but for what makes it invalid: one value a line."
    " Give nothing where no JSON is meant."
)
Objects = Callable[[Iterable[LabelledResponse], Counter[str]], Iterator[dict[str, Any]]]
"""makes objects of responses, and counts those that it leaves out; its docstring is the format's help"""


def _labels(responses: Iterable[LabelledResponse], left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """One JSON line a label, with the response, its note and its history: input of `fencepost label import`."""
    for response in responses:
        yield from rows(response)


def _cases(responses: Iterable[LabelledResponse], left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """One JSON line a response, with its expected values and split: input of `fencepost check --labels`."""
    for response in responses:
        yield {
            "id": response.name,
            "text": response.raw,
            "expected": expected_values(response.final),
            "split": response.split,
            "cause": response.final.cause if response.final else None,
            "session": response.session,
            "position": response.position,
        }


def _pairs(responses: Iterable[LabelledResponse], left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """Pairs of a response and its expected value, one JSON line each: examples for a prompt."""
    for response, label, values in meant(responses, left_out):
        yield {"response": response.raw, "expected": values, **origin(response, label)}


def _chats(responses: Iterable[LabelledResponse], left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """Chat examples for fine-tuning, one JSON line each: the broken response as question, its value as answer."""
    for response, label, values in meant(responses, left_out):
        contents = {"system": TASK, "user": response.raw, "assistant": "\n".join(map(jsontext.portable, values))}
        messages = [{"role": role, "content": content} for role, content in contents.items()]
        yield {"messages": messages, "metadata": origin(response, label)}


def _format(name: str, objects: Objects) -> ExportFormat:
    def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
        for each in objects(responses, about.left_out):
            yield f"{jsontext.portable(each)}\n".encode("ascii")

    return ExportFormat(name, "labels", ".jsonl", "application/jsonl", pieces, objects.__doc__ or "")


formats = {"few-shot": _pairs, "fine-tuning": _chats, "gate": _cases, "jsonl": _labels}
plugins = tuple(_format(name, objects) for name, objects in formats.items())
