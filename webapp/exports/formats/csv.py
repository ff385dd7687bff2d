"""One row a label as CSV; every cell is safe to open in a spreadsheet, and what nobody can see is written as a sign."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat
from webapp.exports.labelled import LabelledResponse, rows
from webapp.visible import with_signs

COLUMNS = (
    *("session", "revision", "position", "judgement", "cause", "expects", "expected", "note", "author", "made_at"),
    *("seconds", "final", "settled", "verdict", "split", "home", "model", "agent", "phase", "format", "key"),
    *("raw_sha256", "raw", "redacted", "history", "contract", "host"),
)
_AS_JSON = ("expected", "redacted", "history", "settled")
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    yield _line(COLUMNS)
    for response in responses:
        for row in rows(response):
            yield _line(tuple(_cell(name, row) for name in COLUMNS))


def _cell(name: str, row: dict[str, Any]) -> str:
    value = row[name]
    if name in _AS_JSON:
        has_value = row["expects"] in ("one", "several") if name == "expected" else value is not None
        return safe(jsontext.portable(value)) if has_value else ""
    return "" if value is None else safe(with_signs(str(value)))


def safe(text: str) -> str:
    """`text` as no spreadsheet takes it for a formula: an apostrophe before what looks like one (OWASP, CSV Injection).

    Lone surrogates, which UTF-8 cannot hold, are written as `\\udXXX`.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return f"'{text}" if text.startswith(_DANGEROUS) else text


def _line(cells: tuple[str, ...]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().encode("utf-8")


plugin = ExportFormat("csv", "labels", ".csv", "text/csv; charset=utf-8", pieces)
