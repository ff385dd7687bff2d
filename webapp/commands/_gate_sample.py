"""The responses that `fencepost check` runs over: of a file, or of a database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import orm

from webapp.commands import _filters, _store
from webapp.exports.splits import split_of
from webapp.gate import samples
from webapp.gate.samples import Sample
from webapp.store.labels import settling
from webapp.store.labels.settling import Labelled
from webapp.store.sessions import responses

_AT_ONCE = 200


def of_file(path: Path) -> list[Sample]:
    """The cases of a file, or the labels of an export. Raises `BadLines`, `OSError`."""
    with path.open("rb") as file:
        return samples.read(file, str(path))


def of_database(url: str | None, filters: dict[str, Any]) -> list[Sample]:
    """The labelled responses, or all under the filters."""
    chosen = _filters.chosen(filters)
    settings = _store.settings()
    if url is not None:
        settings = replace(settings, database=url)
    with _store.engine(settings) as engine, orm.Session(engine) as db:
        if chosen is None:
            return [sample(response) for response in settling.every(db)]
        blocks = responses.turn_ids(db, responses.narrowed_to(db, chosen))
        return [sample(labelled) for ids in blocks for labelled in _of_turns(db, ids)]


def _of_turns(db: orm.Session, turn_ids: Iterable[int]) -> Iterator[Labelled]:
    ids = iter(turn_ids)
    while batch := list(islice(ids, _AT_ONCE)):
        yield from settling.of_turns(db, batch)
        db.expunge_all()


def sample(response: Labelled) -> Sample:
    """A stored response with what its final label says."""
    raw = response.turn.raw or ""
    values = response.final.values if response.final else None
    return Sample(
        f"{response.session.key}-{response.turn.position}",
        raw,
        None if values is None else tuple(values),
        split_of(response.turn.raw_sha256 or hashlib.sha256(raw.encode("utf-8", "surrogatepass")).digest()),
        response.final.content.cause if response.final else None,
    )
