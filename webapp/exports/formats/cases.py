"""Extraction cases as text: title, raw text, values and verdict, the form of tests/cases/responses.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat, LabelledResponse, LabelView, facts, left_out_sentence, meant


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    yield f"# Labelled responses\n\n{_one_line(about.sentence())}\n".encode()
    for response, label, values in meant(responses, about.left_out):
        yield case(response, label, values).encode("ascii")
    yield f"\n{left_out_sentence(about.left_out)}\n".encode("ascii")


def case(response: LabelledResponse, label: LabelView, values: list[Any]) -> str:
    """One case: facts, then the five parts parted by dots, the raw text always with Python's escapes."""
    title, *more = facts(response, label)
    lines = [f"{response.session} turn {response.position}: {title}", f"split: {response.split}", *more]
    comments = "\n".join(f"- {_one_line(line)}" for line in lines)
    expected = "".join(f"{jsontext.portable(value)}\n" for value in values)
    return f"\n{comments}\n\nescaped\n.\n{escaped(response.raw)}\n.\n{expected}.\n{_verdict(response, values)}\n"


def escaped(raw: str) -> str:
    """`raw` on one line of ASCII with Python's escapes, never a lone dot."""
    text = raw.encode("unicode_escape").decode("ascii")
    return "\\x2e" if text == "." else text


def _verdict(response: LabelledResponse, values: list[Any]) -> str:
    """The verdict that a right parser gives: `fencepost`'s where it has one."""
    if not values:
        return "none"
    verdict = response.verdict if response.verdict in ("clean", "extracted", "repaired") else "repaired"
    return f"{verdict} truncated" if response.truncated else verdict


def _one_line(text: str) -> str:
    return ascii(text)[1:-1]


plugin = ExportFormat("cases", "labels", ".md", "text/markdown; charset=utf-8", pieces)
