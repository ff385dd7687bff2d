"""One row a label, as CSV and as Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat, LabelledResponse, Sink, rows
from webapp.installation import MissingLibrary, install_extra
from webapp.visible import with_signs

COLUMNS = (
    *("session", "revision", "position", "judgement", "cause", "expects", "expected", "note", "author", "made_at"),
    *("seconds", "final", "settled", "verdict", "split", "home", "model", "agent", "phase", "format", "key"),
    *("raw_sha256", "raw", "redacted", "history", "contract", "host"),
)
_AS_JSON = ("expected", "redacted", "history", "settled")
_NO_TEXTS = {"revision": "int64", "position": "int64", "seconds": "float64", "final": "bool_"}
ROWS_A_GROUP = 1000
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def _rows(responses: Iterable[LabelledResponse]) -> Iterator[dict[str, Any]]:
    """The rows with what is no plain value as JSON, and no expected value where none is known."""
    for response in responses:
        for row in rows(response):
            as_json = {name: None if row[name] is None else jsontext.portable(row[name]) for name in _AS_JSON}
            is_known = row["expects"] in ("one", "several")  # a known value may be null
            yield row | as_json | {"expected": jsontext.portable(row["expected"]) if is_known else None}


def _csv(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    """One row a label as CSV; every cell is safe in a spreadsheet, and what nobody can see is written as a sign."""
    yield _line(COLUMNS)
    for row in _rows(responses):
        yield _line(tuple(_cell(name, row[name]) for name in COLUMNS))


def _cell(name: str, value: Any) -> str:
    return "" if value is None else safe(value if name in _AS_JSON else with_signs(str(value)))


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


def _parquet(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    """One row a label as Parquet, for notebooks (needs the library pyarrow)."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingLibrary(f"Parquet needs the library pyarrow: {install_extra('parquet')}") from None
    columns = [(name, getattr(pa, _NO_TEXTS.get(name, "string"))()) for name in COLUMNS]
    schema = pa.schema(columns, metadata={"fencepost": about.sentence()})
    sink, flat = Sink(), _rows(responses)
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        while group := list(islice(flat, ROWS_A_GROUP)):
            writer.write_table(pa.Table.from_pylist([_held(row) for row in group], schema=schema))
            yield sink.taken()
    yield sink.taken()


def _held(row: dict[str, Any]) -> dict[str, Any]:
    """`row` with lone surrogates, which Arrow does not hold, as `\\udXXX`."""
    return {
        name: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }


plugins = (
    ExportFormat("csv", "labels", ".csv", "text/csv; charset=utf-8", _csv, _csv.__doc__ or ""),
    ExportFormat("parquet", "labels", ".parquet", "application/vnd.apache.parquet", _parquet, _parquet.__doc__ or ""),
)
