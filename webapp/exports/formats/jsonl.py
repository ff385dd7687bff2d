"""One JSON line a label, with the response, its note and its history: input of `fencepost label import`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat
from webapp.exports.labelled import LabelledResponse, rows


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    for response in responses:
        for row in rows(response):
            yield f"{jsontext.portable(row)}\n".encode("ascii")


plugin = ExportFormat("jsonl", "labels", ".jsonl", "application/jsonl", pieces)
