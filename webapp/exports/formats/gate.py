"""One JSON line a response, with its expected values and split: input of `fencepost check --labels`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat
from webapp.exports.labelled import LabelledResponse, expected_values


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    for response in responses:
        row = {
            "id": response.name,
            "text": response.raw,
            "expected": expected_values(response.final),
            "split": response.split,
            "cause": response.final.cause if response.final else None,
            "session": response.session,
            "position": response.position,
        }
        yield f"{jsontext.portable(row)}\n".encode("ascii")


plugin = ExportFormat("gate", "labels", ".jsonl", "application/jsonl", pieces)
