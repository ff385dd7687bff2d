"""The rows of a Parquet file as objects of plain values, a batch at a time; needs the extra `parquet`."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from webapp.dumps.records import BadDump
from webapp.dumps.source import Source
from webapp.extras import install_extra

MARK = b"PAR1"
_BATCH = 256


def rows(source: Source) -> Iterator[dict[str, Any]]:
    """Every row in order. Raises `BadDump` where the file is damaged, or nothing here reads Parquet."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise BadDump(
            f"this is Parquet, which needs the library pyarrow: {install_extra('parquet')}", "byte 0"
        ) from error
    source.file.seek(source.start)
    try:
        file = parquet.ParquetFile(source.file)
        for batch in file.iter_batches(batch_size=_BATCH):
            for row in batch.to_pylist():
                yield {str(key): plain(value) for key, value in row.items()}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadDump(f"the Parquet file is damaged ({str(error)[:200]})", "byte 0") from error


def plain(value: Any) -> Any:
    """A value as JSON has it: times as ISO 8601, bytes as text or base64, decimals as numbers."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return base64.b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
