"""Extraction cases as text: title, raw text, values and verdict, the form of tests/cases/responses.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from webapp import jsontext
from webapp.exports.base import About
from webapp.exports.labelled import Labelled, Said, meant, settlement


@dataclass(frozen=True)
class Cases:
    name: str = "cases"
    takes: Literal["labels"] = "labels"
    suffix: str = ".md"
    media_type: str = "text/markdown; charset=utf-8"

    def pieces(self, responses: Iterable[Labelled], about: About) -> Iterator[bytes]:
        yield f"# Labelled responses\n\n{_one_line(about.sentence())}\n".encode()
        for response, said, values in meant(responses):
            yield case(response, said, values).encode("ascii")


def case(response: Labelled, said: Said, values: list[Any]) -> str:
    """One case: facts, then the five parts parted by dots, the raw text always with Python's escapes."""
    facts = [f"{response.session} turn {response.position}: {said.judgement} by {said.author}, {said.made_at}"]
    facts += [f"cause: {said.cause}"] if said.cause else []
    facts += [f"note: {said.note}"] if said.note else []
    facts += [settlement(response.settled)] if response.settled else []
    facts += [f"history: {jsontext.dumps(list(said.history))}"] if said.history else []
    told = "\n".join(f"- {_one_line(fact)}" for fact in facts)
    expected = "".join(f"{jsontext.dumps(value)}\n" for value in values)
    return f"\n{told}\n\nescaped\n.\n{escaped(response.raw)}\n.\n{expected}.\n{_verdict(response, values)}\n"


def escaped(raw: str) -> str:
    """`raw` on one line of ASCII with Python's escapes, never a lone dot."""
    text = raw.encode("unicode_escape").decode("ascii")
    return "\\x2e" if text == "." else text


def _verdict(response: Labelled, values: list[Any]) -> str:
    """The verdict that a right parser gives: `fencepost`'s where it has one."""
    if not values:
        return "none"
    verdict = response.verdict if response.verdict in ("clean", "extracted", "repaired") else "repaired"
    return f"{verdict} truncated" if response.truncated else verdict


def _one_line(text: str) -> str:
    return ascii(text)[1:-1]


plugin = Cases()
