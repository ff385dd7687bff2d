"""The narrow rows that lists, facets and statistics are asked of: what a session has, and how often.

A row says that a session has a value of a name, `count` times. The names that the list filters by are `verdict P`,
`strategy P` and `repair P` of each profile P that was run, and of `home`, each session's own, `json.loads` where it is
unknown; and error, finding, model, host, agent, phase, tool, home, service, format, contract and stop. Those that are
only added up are `model home V` and `model fencepost V`, responses by model with the verdict V, `held` and `asked`. A
session that is deleted has no rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from webapp.store.db.dialect import insert_new
from webapp.store.db.ids import batched, short
from webapp.store.models import FacetValue, Session, SessionFacet
from webapp.store.write.parser import UNKNOWN, read_as_json
from webapp.store.write.tally import VERDICTS

HOME = "home"
"""in place of a profile's name: each session's home profile"""
_AT_ONCE = 200
_VERSIONS = ("service.version", "app_version", "version", "release")
_LONGEST = 255
_AS_NAMED = ("finding", "stop", "held", "asked")
Row = tuple[str, str, int]
_facets = sa.select(
    Session.id, Session.facets, Session.home_profile, Session.source_format, Session.service, Session.extra
).where(Session.id.in_(sa.bindparam("ids", expanding=True)), Session.deleted_at.is_(None))


def renew(connection: sa.Connection, session_ids: Iterable[int]) -> None:
    """Make all rows of these sessions anew, in place of those that they had; the caller commits."""
    for part in batched(sorted(set(session_ids)), _AT_ONCE):
        connection.execute(sa.delete(SessionFacet).where(SessionFacet.session_id.in_(part)))
        counted = {row.id: _counted(row) for row in connection.execute(_facets, {"ids": part})}
        numbers = _numbers(connection, {pair for counts in counted.values() for pair in counts})
        rows = [
            {"session_id": session_id, "value_id": numbers[pair], "count": count}
            for session_id, counts in counted.items()
            for pair, count in counts.items()
        ]
        if rows:
            connection.execute(sa.insert(SessionFacet), rows)


def _numbers(connection: sa.Connection, pairs: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The number of each name and value; those that are new get one, in one order, so that no two writers deadlock."""
    found = _known(connection, pairs)
    if missing := sorted(pairs - found.keys()):
        rows = [{"name": name, "value": value} for name, value in missing]
        for part in batched(rows, _AT_ONCE):
            connection.execute(insert_new(connection.dialect.name, FacetValue, part, ("name", "value")))
        found |= _known(connection, set(missing))
    return found


def _known(connection: sa.Connection, pairs: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    names, values = sorted({name for name, _ in pairs}), sorted({value for _, value in pairs})
    query = sa.select(FacetValue.name, FacetValue.value, FacetValue.id).where(FacetValue.name.in_(names))
    found: dict[tuple[str, str], int] = {}
    for some in batched(values, 10 * _AT_ONCE):
        rows = connection.execute(query.where(FacetValue.value.in_(some)))
        found |= {(row.name, row.value): row.id for row in rows}
    return {pair: found[pair] for pair in pairs & found.keys()}


def _counted(session: Any) -> dict[tuple[str, str], int]:
    """What a session's row has to say, by name and value; values that are cut to the same are one."""
    counts: dict[tuple[str, str], int] = {}
    for name, value, count in rows_of(session.facets or {}, session.home_profile):
        pair = name, short(value, _LONGEST)
        counts[pair] = counts.get(pair, 0) + count
    counts |= {("home", session.home_profile): 1, ("format", short(session.source_format, _LONGEST)): 1}
    named = {"service": session.service, "version": _version(session.extra or {})}
    return counts | {(name, short(value, _LONGEST)): 1 for name, value in named.items() if value is not None}


def _version(extra: Mapping[str, Any]) -> str | None:
    """The program's version, where its log says one: as OpenTelemetry's attribute, or among the metadata."""
    metadata = extra.get("metadata")
    places = [extra.get("service.version"), *(metadata.get(name) for name in _VERSIONS if isinstance(metadata, dict))]
    return next((place for place in places if isinstance(place, str) and place), None)


def rows_of(facets: Mapping[str, Any], home: str) -> Iterator[Row]:
    """Name, value and count of what `session.facets` keeps."""
    for part, name in (("errors", "error"), ("contracts", "contract"), *((name, name) for name in _AS_NAMED)):
        yield from ((name, value, count) for value, count in facets.get(part, {}).items() if count)
    for part, name in (("agents", "agent"), ("phases", "phase"), ("tools", "tool"), ("hosts", "host")):
        yield from ((name, value, 1) for value in facets.get(part, ()))
    for model, verdicts in facets.get("models", {}).items():
        yield "model", model, 1
        ours = verdicts[len(VERDICTS) :]
        yield from ((f"model fencepost {name}", model, count) for name, count in _named(ours))
        read = _as_json(ours) if home == UNKNOWN else _named(verdicts)
        yield from ((f"model {HOME} {name}", model, count) for name, count in read)
    for profile, counters in facets.get("profiles", {}).items():
        yield from _of_profile(profile, counters)
        if profile == home != UNKNOWN:
            yield from _of_profile(HOME, counters)
        if profile == "fencepost" and home == UNKNOWN:
            yield from ((f"verdict {HOME}", *pair) for pair in _as_json(counters["verdicts"]))


def _named(verdicts: Sequence[int]) -> Iterator[tuple[str, int]]:
    return ((name, count) for name, count in zip(VERDICTS, verdicts, strict=False) if count)


def _as_json(ours: Sequence[int]) -> Iterator[tuple[str, int]]:
    """What `json.loads` makes of responses that `fencepost` counted by verdict."""
    counts: Counter[str] = Counter()
    for name, count in _named(ours):
        counts[read_as_json(name)] += count
    yield from counts.items()


def _of_profile(profile: str, counters: Mapping[str, Any]) -> Iterator[Row]:
    verdicts = ((f"verdict {profile}", *pair) for pair in zip(VERDICTS, counters["verdicts"], strict=True))
    yield from (row for row in verdicts if row[2])
    for strategy, count in counters["won"].items():
        yield f"strategy {profile}", strategy, count
    for repair, count in counters.get("repairs", {}).items():
        yield f"repair {profile}", repair, count
