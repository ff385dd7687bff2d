"""The narrow rows that lists, facets and statistics are asked of: what a session has, and how often: see `facets`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from webapp.store.db.dialect import insert_new
from webapp.store.db.ids import batched, short
from webapp.store.models import FacetValue, SessionFacet
from webapp.store.write.facets import LONGEST

_AT_ONCE = 200
_VERSIONS = ("service.version", "app_version", "version", "release")
Counts = dict[tuple[str, str], int]
"""by name and value"""


def replace(connection: sa.Connection, first: int, last: int, counted: Mapping[int, Counts]) -> None:
    """Put what sessions have, by their numbers, in place of all rows of those from `first` to `last`."""
    connection.execute(sa.delete(SessionFacet).where(SessionFacet.session_id.between(first, last)))
    numbers = _numbers(connection, {pair for counts in counted.values() for pair in counts})
    rows = [
        {"session_id": session_id, "value_id": numbers[pair], "count": count}
        for session_id, counts in counted.items()
        for pair, count in counts.items()
    ]
    if rows:
        connection.execute(sa.insert(SessionFacet), rows)


def of_session(home: str, source_format: str, service: str | None, extra: Mapping[str, Any] | None) -> Counts:
    """What a session has before its first turn."""
    values_ = {"home": home, "format": source_format, "service": service, "version": _version(extra or {})}
    return {(name, short(value, LONGEST)): 1 for name, value in values_.items() if value is not None}


def _version(extra: Mapping[str, Any]) -> str | None:
    """The program's version, where its log says one: as OpenTelemetry's attribute, or among the metadata."""
    metadata = extra.get("metadata")
    places = [extra.get("service.version"), *(metadata.get(name) for name in _VERSIONS if isinstance(metadata, dict))]
    return next((place for place in places if isinstance(place, str) and place), None)


def _numbers(connection: sa.Connection, pairs: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The number of each name and value; those that are new get one, in one order, so that no two writers deadlock."""
    ids = _known(connection, pairs)
    if missing := sorted(pairs - ids.keys()):
        rows = [{"name": name, "value": value} for name, value in missing]
        for part in batched(rows, _AT_ONCE):
            connection.execute(insert_new(FacetValue, part, ("name", "value")))
        ids |= _known(connection, set(missing))
    return ids


def _known(connection: sa.Connection, pairs: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    names, values = sorted({name for name, _ in pairs}), sorted({value for _, value in pairs})
    query = sa.select(FacetValue.name, FacetValue.value, FacetValue.id).where(FacetValue.name.in_(names))
    ids: dict[tuple[str, str], int] = {}
    for batch in batched(values, 10 * _AT_ONCE):
        rows = connection.execute(query.where(FacetValue.value.in_(batch)))
        ids |= {(row.name, row.value): row.id for row in rows}
    return {pair: ids[pair] for pair in pairs & ids.keys()}
