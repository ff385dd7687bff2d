"""JSON in other dress: as a text within JSON, as a text sequence, and with comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.source import Source

IN_JSON = re.compile(r'\s*"[\[{]')
SEPARATED = re.compile(r"\s*\x1e\s*[\[{]")
COMMENTED = re.compile(r"\s*+(?:[\[{](?:[^\0]{0,4000}?[\n,{\[]\s{0,40}+)?)?(?://|/\*)")
_TEXT = r'(?P<text>"(?:[^"\\]|\\[\s\S]?)*+"?)'
_COMMENT = re.compile(rf"{_TEXT}|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")
"""a text or a comment that nothing closes goes to the end: sought anew at each sign, it would take square time"""
_LAST_COMMA = re.compile(rf"{_TEXT}|,(?=\s*[}}\]])")


def in_json(written: str) -> list[Any] | None:
    """The object that a text in JSON holds as JSON, as LlamaIndex writes it; or those of such texts one a line."""
    texts = [written] if "\n" not in written.strip() else written.splitlines()
    values = [json_or_none(inner) for line in texts if isinstance(inner := json_or_none(line), str)]
    return values if values and all(isinstance(value, dict) for value in values) else None


def sequence(source: Source) -> Iterator[bytes]:
    """The records of a JSON text sequence (RFC 7464), each behind a separator, as lines; none is held whole."""
    source.file.seek(source.start)
    for number, line in enumerate(source.file):
        if number and line.startswith(b"\x1e"):
            yield b"\n"
        yield line.strip(b"\x1e\r\n") + b" "


def uncommented(written: str) -> list[bytes] | None:
    """JSON, or lines of it, without comments and commas before what ends; None for other texts."""
    given = written
    for noise in (_COMMENT, _LAST_COMMA):
        written = noise.sub(lambda match: match["text"] or "", written)
    lines = [line for line in written.split("\n") if line.strip()]
    are_json = json_or_none(written) is not None or (lines and all(json_or_none(line) is not None for line in lines))
    return [written.encode("utf-8", "surrogateescape")] if are_json and written != given else None
