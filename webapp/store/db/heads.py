"""The beginning and the length of a stored text, without reading the whole of a long one."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from webapp.store.db import packing
from webapp.store.db.dialect import by_dialect


class Head(sa.TypeDecorator[bytes]):
    """The first bytes of a `PackedText` as UTF-8, cut anywhere."""

    impl = sa.LargeBinary
    cache_ok = True

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else packing.unpack_text(bytes(value))[: self.size]


def head(column: Any, size: int) -> sa.ColumnElement[bytes]:
    """The first `size` bytes of a text; a packed one, which is short, comes whole out of the database."""
    data = sa.type_coerce(column, sa.LargeBinary())
    packed = sa.func.substr(data, 1, 1, type_=sa.LargeBinary()) == sa.literal(packing.TEXT, sa.LargeBinary())
    cut = sa.func.coalesce(sa.func.substr(data, 1, size, type_=sa.LargeBinary()), data)  # SQLite's of x'' is NULL
    return sa.type_coerce(sa.case((packed, data), else_=cut), Head(size))


def decoded(head: bytes) -> str:
    """A text that begins with `head`, without the character in which it was cut."""
    for cut in range(4):
        try:
            return head[: len(head) - cut].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            continue
    return head.decode("utf-8", "replace")


Length = by_dialect(
    "fencepost_length",
    sa.Integer(),
    sqlite=lambda data: (
        f"CASE WHEN substr({data}, 1, 1) = x'{packing.TEXT.hex()}' "
        f"THEN CAST(CAST(substr({data}, 2, {packing.DIGITS}) AS TEXT) AS INTEGER) ELSE length({data}) END"
    ),
    postgresql=lambda data: (
        f"CASE WHEN substr({data}, 1, 1) = '\\x{packing.TEXT.hex()}' "
        f"THEN CAST(convert_from(substr({data}, 2, {packing.DIGITS}), 'UTF8') AS INTEGER) ELSE length({data}) END"
    ),
)
"""`Length(column)`: how many bytes a text takes as UTF-8, packed or not"""
