"""Pairs of a response and the value that was meant, one JSON line each: examples for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from webapp import jsontext
from webapp.exports.base import About
from webapp.exports.labelled import Labelled, meant, origin


@dataclass(frozen=True)
class FewShot:
    name: str = "few-shot"
    takes: Literal["labels"] = "labels"
    suffix: str = ".jsonl"
    media_type: str = "application/jsonl"

    def pieces(self, responses: Iterable[Labelled], about: About) -> Iterator[bytes]:
        for response, said, values in meant(responses):
            pair = {"response": response.raw, "expected": values, **origin(response, said)}
            yield f"{jsontext.dumps(pair)}\n".encode("ascii")


plugin = FewShot()
