"""The rows of a Parquet file as objects of plain values, a batch at a time; needs the extra `parquet`."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from webapp.dumps.budget import PIECE, BadDump, Budget, TooLarge
from webapp.dumps.source import Source
from webapp.installation import install_extra
from webapp.memory import at_most

MARK = b"PAR1"
_BATCH = 256
_MOST_IN_BATCH, _MOST_HELD = 16 * PIECE, 224 * PIECE
"""bytes of a batch by what the file says of itself, and what Arrow may hold to make it"""
_VALUE = 60
"""bytes of a value in Python, beside its text"""


def rows(source: Source) -> Iterator[dict[str, Any]]:
    """Every row in order. Raises `BadDump` where the file is damaged, too large, or nothing here reads Parquet."""
    try:
        import pyarrow as pa
        from pyarrow import parquet  # noqa: F401 - that it is there
    except ImportError as error:
        raise BadDump(
            f"this is Parquet, which needs the library pyarrow: {install_extra('parquet')}", "byte 0"
        ) from error
    source.budget.make_rows()
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own keeps 100 MB of what a bomb made it take
    source.file.seek(source.start)
    budget, number = source.budget.anew(), 0
    most_held = budget.characters()
    try:
        for batch in budget.timed(_batches(source, budget, most_held), "a batch of rows"):
            for part in _parts(batch, most_held // 8):
                if (size := _size(part)) > most_held:
                    raise TooLarge(f"a row of {size // PIECE} MB, more than one item may hold", f"row {number}")
                budget.take(size // 4, f"row {number}")
                for row in part.to_pylist():
                    yield {str(key): plain(value) for key, value in row.items()}
                number += part.num_rows
    except MemoryError as error:
        raise TooLarge(f"a batch of rows takes more than {_MOST_HELD // PIECE} MB", f"row {number}") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, BadDump):
            raise
        raise BadDump(f"the Parquet file is damaged ({str(error)[:200]})", "byte 0") from error


def _unpacked(group: Any) -> int:
    return sum(int(group.column(index).total_uncompressed_size) for index in range(group.num_columns))


def _by_delta(group: Any) -> set[str]:
    """The columns whose texts begin as the one before does, which Arrow cannot hold once."""
    chunks = map(group.column, range(group.num_columns))
    return {chunk.path_in_schema for chunk in chunks if "DELTA_BYTE_ARRAY" in chunk.encodings}


def _batches(source: Source, budget: Budget, most_held: int) -> Iterator[Any]:
    """The rows, few at once. What a file says of its size may be a lie: what takes too much is a `MemoryError`."""
    from pyarrow import parquet

    file = parquet.ParquetFile(source.file)
    groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
    if max((_unpacked(group) for group in groups), default=0) > max(most_held, budget.free):
        budget.anew().take(sum(map(_unpacked, groups)), "the row groups")
    texts = {column.path for column in file.schema if column.physical_type == "BYTE_ARRAY"}
    once = sorted(texts.difference(*map(_by_delta, groups)))  # a text that many rows have is held once
    row = max((_unpacked(group) // max(1, group.num_rows) for group in groups), default=0)
    file = parquet.ParquetFile(source.file, metadata=file.metadata, read_dictionary=once, pre_buffer=False)
    rows = max(1, min(_BATCH, _MOST_IN_BATCH // max(1, row)))
    batches = file.iter_batches(batch_size=rows, use_threads=False)
    while True:
        with at_most(_MOST_HELD):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _parts(batch: Any, most: int) -> Iterator[Any]:
    """A batch as it is, or row by row where its values would be more than `most` bytes."""
    alone = _size(batch) > most
    return (batch.slice(index, 1) for index in range(batch.num_rows)) if alone else iter([batch])


def _size(columns: Any) -> int:
    """Bytes of all values, each text as often as it stands there, before they become Python's."""
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(columns, pa.RecordBatch):
        return sum(map(_size, columns.columns))
    kind, size = columns.type, _VALUE * len(columns)
    if pa.types.is_dictionary(kind):
        lengths = compute.take(compute.binary_length(columns.dictionary), columns.indices)
        return size + (compute.sum(lengths).as_py() or 0)
    if pa.types.is_struct(kind):
        return size + sum(map(_size, columns.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return size + _size(columns.flatten())
    if pa.types.is_map(kind):
        structs = columns.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        return size + _size(structs.flatten())
    return size + int(columns.nbytes)


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
