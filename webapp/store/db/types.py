"""The base of all tables, and column types that keep exactly what came, on every database: how texts and JSON are
packed, and read in part."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext
from webapp.store.db.dialect import by_dialect
from webapp.store.db.ids import short

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKED = b"\x01"
"""The first byte of a packed value; JSON text never begins so, and plain text from before is read as it is."""
SHORTEST = 64
"""bytes below which packing gains nothing"""
TEXT = b"\xff"
"""The first byte of a packed text, which UTF-8 never has; its length in decimal digits follows."""
DIGITS = 5
SHORTEST_TEXT = 512
LONGEST_TEXT = 65_536
"""bytes: the beginning of a longer text is read without the rest, so it stays plain"""
_MAGIC = b"\x28\xb5\x2f\xfd"
_LEVEL = 3
_TEXT_LEVEL = 1


def pack(text: bytes) -> bytes:
    """`text`, which is JSON, in less where that can be."""
    if len(text) < SHORTEST:
        return text
    packed = PACKED + _compressor().compress(text, zstd.ZstdCompressor.FLUSH_FRAME)[len(_MAGIC) :]
    return packed if len(packed) < len(text) else text


def unpack(data: bytes) -> bytes:
    """What `pack` was given; text that was never packed comes back as it is."""
    if data[:1] != PACKED:
        return data
    return zstd.decompress(_MAGIC + data[len(PACKED) :], zstd_dict=_dictionary())


def pack_text(text: bytes) -> bytes:
    """`text`, which is UTF-8, in less where that is worth it."""
    if not SHORTEST_TEXT <= len(text) <= LONGEST_TEXT:
        return text
    frame = _text_compressor().compress(text, zstd.ZstdCompressor.FLUSH_FRAME)
    packed = TEXT + b"%0*d" % (DIGITS, len(text)) + frame[len(_MAGIC) :]
    return packed if len(packed) < len(text) else text


def unpack_text(data: bytes) -> bytes:
    """What `pack_text` was given; a text that was never packed comes back as it is."""
    if data[:1] != TEXT:
        return data
    return zstd.decompress(_MAGIC + data[1 + DIGITS :])


@cache
def _dictionary() -> zstd.ZstdDict:
    return zstd.ZstdDict(Path(__file__).with_name("packing.zdict").read_bytes())


@cache
def _compressor() -> zstd.ZstdCompressor:
    """One for all threads: a whole frame is one call, and calls take turns."""
    return zstd.ZstdCompressor(level=_LEVEL, zstd_dict=_dictionary().as_digested_dict)


@cache
def _text_compressor() -> zstd.ZstdCompressor:
    return zstd.ZstdCompressor(level=_TEXT_LEVEL)


ProfileName = sa.String(64).with_variant(sa.String(255), "postgresql")
"""A profile's name, which of a parser of somebody's own is long; SQLite holds no text to its length."""

BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Base(orm.DeclarativeBase):
    """A table, which is called as its class is: `label_queue` for `LabelQueue`."""

    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )

    @orm.declared_attr.directive
    @classmethod
    def __tablename__(cls) -> str:
        return re.sub(r"\B[A-Z]", r"_\g<0>", cls.__name__).lower()


class Numbered(Base):
    """A table whose rows have numbers of their own."""

    __abstract__ = True

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True, sort_order=-1)


class ExactText(sa.TypeDecorator[str]):
    """Any `str`, NUL and lone surrogates included, as UTF-8 bytes: neither database's text type holds both."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else value.encode("utf-8", "surrogatepass")

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else bytes(value).decode("utf-8", "surrogatepass")


class PackedText(ExactText):
    """As `ExactText`, texts of some length in about half the bytes: SQL sees them through `head` and `Length` alone."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else pack_text(value.encode("utf-8", "surrogatepass"))

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else unpack_text(bytes(value)).decode("utf-8", "surrogatepass")


class ExactJson(sa.TypeDecorator[Any]):
    """Any JSON value as ASCII bytes, NaN and integers of any size included; None is NULL."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else jsontext.dumps(value).encode("ascii")

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> Any:
        return None if value is None else jsontext.loads(bytes(value))


class PackedJson(ExactJson):
    """As `ExactJson`, in a third of the bytes; no SQL can look into it, and plain text from before is still read."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else pack(jsontext.dumps(value).encode("ascii"))

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> Any:
        return None if value is None else jsontext.loads(unpack(bytes(value)))


class ShortText(sa.TypeDecorator[str]):
    """A name to group and filter by: cut to `length` code points, NUL and lone surrogates become U+FFFD.

    What it said word for word stays in the turn's `source`.
    """

    impl = sa.String
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else short(value, self.length)


class UtcDateTime(sa.TypeDecorator[datetime]):
    """A time, stored as UTC and given back aware (SQLite itself forgets the zone); a naive one is taken as UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        if value is None or value.tzinfo is UTC:
            return value
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)

    process_result_value = process_bind_param


def plain(model: Any) -> sa.TableClause:
    """`model`'s table without what its types make of values: they go in, and come out, as they are kept.

    Times alone stay aware, which SQLite itself forgets.
    """
    table: sa.Table = getattr(model, "__table__", model)
    return sa.table(table.name, *(sa.column(column.name, _stored(column.type)) for column in table.columns))


def _stored(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any] | None:
    return None if isinstance(kind, ExactText | ExactJson | ShortText | sa.LargeBinary) else kind


class Head(sa.TypeDecorator[bytes]):
    """The first bytes of a `PackedText` as UTF-8, cut anywhere."""

    impl = sa.LargeBinary
    cache_ok = True

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else unpack_text(bytes(value))[: self.size]


def head(column: Any, size: int) -> sa.ColumnElement[bytes]:
    """The first `size` bytes of a text; a packed one, which is short, comes whole out of the database."""
    data = sa.type_coerce(column, sa.LargeBinary())
    packed = sa.func.substr(data, 1, 1, type_=sa.LargeBinary()) == sa.literal(TEXT, sa.LargeBinary())
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
        f"CASE WHEN substr({data}, 1, 1) = x'{TEXT.hex()}' "
        f"THEN CAST(CAST(substr({data}, 2, {DIGITS}) AS TEXT) AS INTEGER) ELSE length({data}) END"
    ),
    postgresql=lambda data: (
        f"CASE WHEN substr({data}, 1, 1) = '\\x{TEXT.hex()}' "
        f"THEN CAST(convert_from(substr({data}, 2, {DIGITS}), 'UTF8') AS INTEGER) ELSE length({data}) END"
    ),
)
"""`Length(column)`: how many bytes a text takes as UTF-8, packed or not"""
