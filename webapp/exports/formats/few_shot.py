"""Pairs of a response and the value that was meant, one JSON line each: examples for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from webapp import jsontext
from webapp.exports.base import About
from webapp.exports.labelled import Labelled, Said, expected_values


@dataclass(frozen=True)
class FewShot:
    name: str = "few-shot"
    takes: Literal["labels"] = "labels"
    suffix: str = ".jsonl"
    media_type: str = "application/jsonl"

    def pieces(self, responses: Iterable[Labelled], about: About) -> Iterator[bytes]:
        for response in responses:
            values = expected_values(response.final)
            if values is not None and response.final is not None:
                pair = {"response": response.raw, "expected": values, **origin(response, response.final)}
                yield f"{jsontext.dumps(pair)}\n".encode("ascii")


def origin(response: Labelled, said: Said) -> dict[str, Any]:
    """Where a pair comes from and who says so."""
    return {
        "session": response.session,
        "position": response.position,
        "model": response.model,
        "cause": said.cause,
        "author": said.author,
        "made_at": said.made_at,
        "note": said.note,
        "history": list(said.history),
    }


plugin = FewShot()
