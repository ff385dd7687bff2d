"""Cuts stored responses into chunks and parses them with a profile, in this process or in several at once.

Only what this version of the profile has not parsed yet is parsed; the rest is counted. Nothing is written here.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import Profile, Trace
from webapp.store.db import database
from webapp.store.db.types import PackedText
from webapp.store.models import TURNS_A_SESSION, Parse, Session, Turn, is_response, is_unfinished
from webapp.store.write import regrouping, row_values
from webapp.store.write.tally import READABLE

AT_ONCE = 500
"""turns that are parsed, and written, together; a session of more than twice as many is cut"""
_MOST_WAITING = 8
"""chunks for each helper that are parsed, or being parsed, and not stored yet"""
COUNTED = ("responses", "clean", "extracted", "repaired", "failed", "none", "rescued")
_ROWS = 50
_MOST_SESSIONS = 10_000
"""that one statement names"""
_mine, _home = orm.aliased(Parse), orm.aliased(Parse)
_is_new = sa.or_(_mine.version.is_(None), _mine.version != sa.bindparam("version"))
responses = (
    sa.select(
        *(Turn.id, _mine.version, _mine.verdict),
        sa.type_coerce(sa.case((_is_new, Turn.raw), else_=sa.null()), PackedText).label("raw"),
        sa.or_(_home.verdict == "failed", Turn.recorded_failure.is_not(None)).label("failed"),
    )
    .join(Session, Session.id == Turn.session_id)
    .outerjoin(_mine, sa.and_(_mine.turn_id == Turn.id, _mine.profile == sa.bindparam("profile")))
    .outerjoin(_home, sa.and_(_home.turn_id == Turn.id, _home.profile == Session.home_profile))
    .where(Turn.id.between(sa.bindparam("low"), sa.bindparam("high")), is_response, ~is_unfinished)
    .order_by(Turn.id)
).execution_options(yield_per=_ROWS)
_of_some = Turn.session_id.in_(sa.bindparam("sessions", expanding=True))
_last_ordinal = sa.select(sa.func.max(Turn.ordinal)).where(Turn.session_id == sa.bindparam("session"))


@dataclass(frozen=True, slots=True)
class Chunk:
    """The responses whose turn ids go from `low` to `high`, both in it; where sessions are named, theirs alone.

    With `again`, those too that this version of the profile has parsed.
    """

    low: int
    high: int
    session_ids: tuple[int, ...] | None = None
    again: bool = False

    @property
    def part_of(self) -> int | None:
        """The session of which this is a part; None where it has whole sessions."""
        first, last = self.low // TURNS_A_SESSION, self.high // TURNS_A_SESSION
        is_whole = (self.low, self.high + 1) == (first * TURNS_A_SESSION, (last + 1) * TURNS_A_SESSION)
        return None if is_whole else first


@dataclass(slots=True)
class ParsedChunk:
    """What came of a chunk: `counts` of all its responses, and the rows of those that were parsed anew."""

    chunk: Chunk
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    parses: list[row_values.Values] = field(default_factory=list)
    repairs: list[row_values.Values] = field(default_factory=list)
    sessions: set[int] = field(default_factory=set)
    """of these"""

    def count(self, verdict: str, failed: bool) -> None:
        self.counts["responses"] += 1
        self.counts[verdict] += 1
        self.counts["rescued"] += failed and verdict in READABLE

    def add(self, batch: list[tuple[int, Trace, str, Trace]]) -> None:
        """Take what `row_values.parse_row` takes, of many turns."""
        self.parses += row_values.values(row_values.PARSE, [row_values.parse_row(*parse) for parse in batch])
        for turn_id, trace, _, _ in batch:
            if trace.verdict == "repaired":
                self.repairs += row_values.values(row_values.REPAIR, row_values.repair_rows(turn_id, trace))
            self.sessions.add(turn_id // TURNS_A_SESSION)


Chunks = Generator[ParsedChunk, None, None]


def total(connection: sa.Connection, session_ids: set[int] | None) -> int:
    """How many responses these sessions have, None for all sessions."""
    query = sa.select(Turn.session_id, sa.func.count()).where(is_response).group_by(Turn.session_id)
    query = query.where(Turn.session_id.not_in(sa.select(Session.id).where(is_unfinished)))
    return sum(count for number, count in connection.execute(query) if session_ids is None or number in session_ids)


def plan(connection: sa.Connection, session_ids: set[int] | None) -> list[Chunk]:
    """The chunks of these sessions, in the order of their numbers, of so many turns; None for all sessions."""
    query = sa.select(Session.id, Session.turn_count).where(~is_unfinished).order_by(Session.id)
    chunks: list[Chunk] = []
    together: list[int] = []
    size, most_sessions = 0, None if session_ids is None else _MOST_SESSIONS
    for number, turns in connection.execute(query).all():
        if session_ids is not None and number not in session_ids:
            continue
        is_long = turns > 2 * AT_ONCE
        if together and (is_long or size + turns > AT_ONCE or len(together) == most_sessions):
            chunks.append(_whole(together, session_ids))
            together, size = [], 0
        if is_long:
            chunks += _parts(connection, number)
        else:
            together.append(number)
            size += turns
    return chunks + ([_whole(together, session_ids)] if together else [])


def _whole(together: list[int], session_ids: set[int] | None) -> Chunk:
    low, high = together[0] * TURNS_A_SESSION, (together[-1] + 1) * TURNS_A_SESSION - 1
    return Chunk(low, high, None if session_ids is None else tuple(together))


def _parts(connection: sa.Connection, session_id: int) -> list[Chunk]:
    last = connection.scalar(_last_ordinal, {"session": session_id}) or 0
    first, end = session_id * TURNS_A_SESSION, (session_id + 1) * TURNS_A_SESSION
    lows = [first + ordinal for ordinal in range(0, last + 1, AT_ONCE)]
    return [Chunk(low, high - 1) for low, high in zip(lows, [*lows[1:], end], strict=True)]


def batches(
    connection: sa.Connection, parser: Profile, chunk: Chunk, select: sa.Select[*tuple[Any, ...]]
) -> Iterator[Sequence[Any]]:
    """The rows of a chunk, some at a time."""
    known = "" if chunk.again else parser.version
    about: dict[str, Any] = {"profile": parser.name, "version": known, "low": chunk.low, "high": chunk.high}
    if chunk.session_ids is not None:
        select, about = select.where(_of_some), {**about, "sessions": chunk.session_ids}
    return connection.execute(select, about).partitions(_ROWS)


def parse_chunk(connection: sa.Connection, parser: Profile, chunk: Chunk) -> ParsedChunk:
    """Parse what is new of a chunk."""
    parsed = ParsedChunk(chunk)
    for batch in batches(connection, parser, chunk, responses):
        new: list[tuple[int, str, Trace]] = []
        for turn_id, version, verdict, raw, failed in batch:
            if chunk.again or version != parser.version:
                trace = parsing.parse(raw, parser)
                verdict = trace.verdict
                new.append((turn_id, raw, trace))
            parsed.count(verdict, bool(failed))
        parsed.add(regrouping.with_ours(connection, new))
    return parsed


def parsed_chunks(engine: sa.Engine, parser: Profile, chunks: Iterator[Chunk], processes: int) -> Chunks:
    """All chunks in order, parsed by so many processes, this one among them; `chunks` is read on as needed."""
    if processes > 1:
        yield from _in_processes(engine, parser, chunks, processes - 1)
        return
    for chunk in chunks:
        yield _parse(engine, parser, chunk)


def _parse(engine: sa.Engine, parser: Profile, chunk: Chunk) -> ParsedChunk:
    with engine.connect() as connection:
        return parse_chunk(connection, parser, chunk)


def _in_processes(engine: sa.Engine, parser: Profile, chunks: Iterator[Chunk], helpers: int) -> Chunks:
    """A few chunks are always under way; what no helper has begun, while none has ended, this process parses itself."""
    about = (engine.url.render_as_string(hide_password=False), parser.name)
    fresh = multiprocessing.get_context("spawn")  # this process may have threads, which a fork would not survive
    following = next(chunks, None)
    with ProcessPoolExecutor(helpers, fresh, _begin_worker, about) as pool:
        waiting: deque[Future[ParsedChunk]] = deque()
        try:
            while following or waiting:
                under_way = sum(not future.done() for future in waiting)
                while following and under_way < 2 * helpers:
                    waiting.append(pool.submit(_parse_here, following))
                    following = next(chunks, None)
                    under_way += 1
                if following and not waiting[0].done() and len(waiting) < _MOST_WAITING * helpers:
                    waiting.append(_finished(_parse(engine, parser, following)))
                    following = next(chunks, None)
                else:
                    yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _finished(parsed: ParsedChunk) -> Future[ParsedChunk]:
    future: Future[ParsedChunk] = Future()
    future.set_result(parsed)
    return future


_here: dict[str, Any] = {}
"""what a worker process gives to `_parse`: its engine, the profile, and how it parses a chunk"""


def _begin_worker(url: str, profile: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _here.update(engine=database.connect(url), parser=parsing.profile(profile))


def _end_with_parent() -> None:
    """A process that is killed tells its workers nothing: they look themselves."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _parse_here(chunk: Chunk) -> ParsedChunk:
    return _parse(chunk=chunk, **_here)
