"""Pairs of a response and its expected value, one JSON line each: examples for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat
from webapp.exports.labelled import LabelledResponse, meant, origin


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    for response, label, values in meant(responses, about.left_out):
        pair = {"response": response.raw, "expected": values, **origin(response, label)}
        yield f"{jsontext.portable(pair)}\n".encode("ascii")


plugin = ExportFormat("few-shot", "labels", ".jsonl", "application/jsonl", pieces)
