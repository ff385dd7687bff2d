"""One JSON line a label, with the response, its note and its history: what `fencepost label import` takes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from webapp import jsontext
from webapp.exports.base import About
from webapp.exports.labelled import Labelled, rows


@dataclass(frozen=True)
class JsonLines:
    name: str = "jsonl"
    takes: Literal["labels"] = "labels"
    suffix: str = ".jsonl"
    media_type: str = "application/jsonl"

    def pieces(self, responses: Iterable[Labelled], about: About) -> Iterator[bytes]:
        for response in responses:
            for row in rows(response):
                yield f"{jsontext.dumps(row)}\n".encode("ascii")


plugin = JsonLines()
