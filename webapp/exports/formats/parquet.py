"""One row a label as Parquet, for notebooks (needs the library pyarrow)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat, MissingLibrary, Sink
from webapp.exports.labelled import LabelledResponse, rows
from webapp.extras import install_extra

ROWS_A_GROUP = 1000
_TEXT = ("session", "key", "raw_sha256", "author", "judgement", "cause", "expects", "note", "made_at")
_MORE_TEXT = ("model", "agent", "phase", "format", "home", "verdict", "split", "raw", "contract", "host")
_JSON = ("expected", "history", "redacted", "settled")


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    """Raises `MissingLibrary` before the first piece."""
    arrow, parquet = _library()
    schema = _schema(arrow, about)
    sink = Sink()
    flat = (row for response in responses for row in rows(response))
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        while group := list(islice(flat, ROWS_A_GROUP)):
            writer.write_table(arrow.Table.from_pylist([_plain(row) for row in group], schema=schema))
            yield sink.taken()
    yield sink.taken()


def _library() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingLibrary(f"Parquet needs the library pyarrow: {install_extra('parquet')}") from None
    return pa, parquet


def _schema(arrow: Any, about: ExportFacts) -> Any:
    text = [(name, arrow.string()) for name in (*_TEXT, *_MORE_TEXT, *_JSON)]
    numbers = [("revision", arrow.int64()), ("position", arrow.int64()), ("seconds", arrow.float64())]
    fields = [*text, *numbers, ("final", arrow.bool_())]
    return arrow.schema(fields, metadata={"fencepost": about.sentence()})


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """`row` with values that Arrow holds: JSON as text, lone surrogates as `\\udXXX`."""
    converted = {name: jsontext.portable(value) if name in _JSON else value for name, value in row.items()}
    if row["expects"] not in ("one", "several"):
        converted["expected"] = None
    return {
        name: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        for name, value in converted.items()
    }


plugin = ExportFormat("parquet", "labels", ".parquet", "application/vnd.apache.parquet", pieces)
