"""Column types that keep exactly what came, on every database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp import jsontext

BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class ExactText(sa.TypeDecorator[str]):
    """Any `str`, NUL and lone surrogates included, as UTF-8 bytes: neither database's text type holds both."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else value.encode("utf-8", "surrogatepass")

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else bytes(value).decode("utf-8", "surrogatepass")


class ExactJson(sa.TypeDecorator[Any]):
    """Any JSON value as ASCII bytes, NaN and integers of any size included; None is NULL."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else jsontext.dumps(value).encode("ascii")

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> Any:
        return None if value is None else jsontext.loads(bytes(value))


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
