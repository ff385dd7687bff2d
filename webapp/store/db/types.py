"""Column types that keep exactly what came, on every database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from webapp import jsontext
from webapp.store.db import packing
from webapp.store.db.short_text import short

ProfileName = sa.String(64).with_variant(sa.String(255), "postgresql")
"""A profile's name, which of a parser of somebody's own is long; SQLite holds no text to its length."""

BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(when: datetime) -> int:
    """Since the year 1, so that no time is negative."""
    return (when - _FIRST) // _MICROSECOND


def moment(number: int) -> datetime:
    """The time that is so many microseconds after the year 1. Raises `OverflowError` where there is none."""
    return _FIRST + timedelta(microseconds=number)


class ExactText(sa.TypeDecorator[str]):
    """Any `str`, NUL and lone surrogates included, as UTF-8 bytes: neither database's text type holds both."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else value.encode("utf-8", "surrogatepass")

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else bytes(value).decode("utf-8", "surrogatepass")


class PackedText(ExactText):
    """As `ExactText`, texts of some length in about half the bytes: SQL sees them through `store.db.heads` alone."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else packing.pack_text(value.encode("utf-8", "surrogatepass"))

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else packing.unpack_text(bytes(value)).decode("utf-8", "surrogatepass")


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
        return None if value is None else packing.pack(jsontext.dumps(value).encode("ascii"))

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> Any:
        return None if value is None else jsontext.loads(packing.unpack(bytes(value)))


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
    """An aware time, stored as UTC and given back aware (SQLite itself forgets the zone)."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
