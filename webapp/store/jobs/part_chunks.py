"""Chunks of runs that write Parquet parts: larger ones, of which each raw text is parsed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.config import Settings
from webapp.parsing import Profile, Trace
from webapp.store.db import packing
from webapp.store.jobs import response_chunks
from webapp.store.jobs.response_chunks import Chunk, ParsedChunk, ParsedPart
from webapp.store.models import Parse, Turn
from webapp.store.parts import part_files, reading
from webapp.store.parts.part_files import Columns
from webapp.store.write import regrouping, row_values
from webapp.store.write.parser import OURS
from webapp.store.write.tally import READABLE

AT_ONCE = 50_000
"""turns of a part: what a killed worker parses again"""
PARTS = "parts"
"""the part of a run's scope that says that it writes parts"""
_base = orm.aliased(Parse)
_responses = response_chunks.responses.outerjoin(
    _base, sa.and_(_base.turn_id == Turn.id, _base.profile == OURS)
).add_columns(Turn.model, Turn.raw_sha256, _base.verdict.label("base"), _base.value_digest.label("base_digest"))
Made = tuple[str, int | None, str | None, bytes]
"""of one text: its verdict, the digest of its values, its failure group and the packed trace"""


def scope(settings: Settings, total: int, asked: dict[str, Any]) -> dict[str, Any]:
    """The scope of a run over so many responses: with parts where it is asked or `FENCEPOST_PARTS_FROM` says so.

    Raises `MissingLibrary` where it is asked for and nothing can write them; by size alone it is left to the database.
    """
    if asked.get(PARTS):
        part_files.refuse_without_libraries()
        return asked
    is_large = 0 < settings.parts_from <= total
    return asked | {PARTS: True} if is_large and part_files.is_installed() else asked


def parse_chunk(settings: Settings, connection: sa.Connection, parser: Profile, chunk: Chunk) -> ParsedChunk:
    """What the database holds of an older version is parsed for the database, all else that is new for a part."""
    known, damaged = reading.verdicts(connection, settings, (parser.name, parser.version), chunk.low, chunk.high)
    columns = Columns()
    parsed = ParsedChunk(chunk, part=ParsedPart(parser.version, columns, damaged))
    texts = _Texts(parser)
    for batch in response_chunks.batches(connection, parser, chunk, _responses):
        texts.parse(connection, [row for row in batch if row.raw is not None and row.id not in known])
        outdated: list[tuple[int, str, Trace]] = []
        for row in batch:
            verdict = row.verdict if row.version == parser.version else known.get(row.id)
            if verdict is None:
                verdict = texts.made[row.raw_sha256][0]
                if row.version is None:
                    _add(columns, row, texts)
                else:
                    outdated.append((row.id, row.raw, parsing.parse(row.raw, parser)))
                    parsed.remove(row.id, row.version, Trace.from_dict(row.old))
            parsed.count(verdict, bool(row.failed))
        parsed.add(regrouping.with_ours(connection, outdated))
    return parsed


@dataclass(slots=True)
class _Texts:
    """What was made of each text of a chunk, by its SHA-256, and of which a trace stands in the part."""

    parser: Profile
    made: dict[bytes, Made] = field(default_factory=dict)
    traced: set[bytes] = field(default_factory=set)

    def parse(self, connection: sa.Connection, batch: Sequence[sa.Row[Any]]) -> None:
        texts = {row.raw_sha256: row for row in batch if row.raw_sha256 not in self.made}
        traces = [(row.id, row.raw, parsing.parse(row.raw, self.parser)) for row in texts.values()]
        for sha256, (turn_id, trace, raw, ours) in zip(texts, regrouping.with_ours(connection, traces), strict=True):
            made = row_values.parse_row(turn_id, trace, raw, ours)
            self.made[sha256] = (trace.verdict, made["value_digest"], made["failure_group"], made["trace"])


def _add(columns: Columns, row: sa.Row[Any], texts: _Texts) -> None:
    made = verdict, digest, group, trace = texts.made[row.raw_sha256]
    text = int.from_bytes(row.raw_sha256[:8], "big", signed=True)
    stored_trace = None
    if row.raw_sha256 not in texts.traced and _differs(made, row.base, row.base_digest):
        stored_trace = packing.unpack(trace).decode()
        texts.traced.add(row.raw_sha256)
    columns.add(row.id, text, row.model, verdict, digest, group, stored_trace)


def _differs(made: Made, base: str | None, base_digest: int | None) -> bool:
    """Fixed, regressed or changed against what `fencepost` read."""
    reads, base_reads = made[0] in READABLE, base in READABLE
    return reads != base_reads or (reads and (made[1] is None or made[1] != base_digest))
