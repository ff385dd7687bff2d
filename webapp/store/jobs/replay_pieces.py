"""Cuts stored responses into pieces and parses them with a profile, in this process or in several at once.

Only what this version of the profile has not parsed yet is parsed; the rest is counted. Nothing is written here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import Profile, Trace
from webapp.store.db import database
from webapp.store.db.types import PackedText
from webapp.store.models import TURNS_A_SESSION, Parse, Session, Turn, is_response
from webapp.store.write import row_values
from webapp.store.write.tally import READABLE

AT_ONCE = 500
"""turns that are parsed, and written, together; a session of more than twice as many is cut"""
_WAITING = 3
"""pieces for each process that are parsed, or being parsed, and not stored yet"""
COUNTED = ("responses", "clean", "extracted", "repaired", "failed", "none", "rescued")
_ROWS = 50
_mine, _home = orm.aliased(Parse), orm.aliased(Parse)
_is_new = sa.or_(_mine.version.is_(None), _mine.version != sa.bindparam("version"))
_responses = (
    sa.select(
        *(Turn.id, _mine.version, _mine.verdict),
        sa.type_coerce(sa.case((_is_new, Turn.raw), else_=sa.null()), PackedText).label("raw"),
        sa.or_(_home.verdict == "failed", Turn.recorded_failure.is_not(None)).label("failed"),
    )
    .join(Session, Session.id == Turn.session_id)
    .outerjoin(_mine, sa.and_(_mine.turn_id == Turn.id, _mine.profile == sa.bindparam("profile")))
    .outerjoin(_home, sa.and_(_home.turn_id == Turn.id, _home.profile == Session.home_profile))
    .where(Turn.id.between(sa.bindparam("low"), sa.bindparam("high")), is_response)
    .order_by(Turn.id)
).execution_options(yield_per=_ROWS)
_last_ordinal = sa.select(sa.func.max(Turn.ordinal)).where(Turn.session_id == sa.bindparam("session"))


class ProcessDied(RuntimeError):
    """A process that parses ended before it had done so."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Ranges of turn ids, both ends in them: of whole sessions, or `is_part` of a long one, which `goes_on` behind it.

    With `again`, responses are parsed that this version of the profile has parsed, too.
    """

    ranges: tuple[tuple[int, int], ...]
    is_part: bool = False
    goes_on: bool = False
    again: bool = False


@dataclass(slots=True)
class ParsedPiece:
    """What came of a piece: `counts` of all its responses, and rows of those that were parsed anew."""

    piece: Piece
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    parses: list[row_values.Row] = field(default_factory=list)
    repairs: list[row_values.Row] = field(default_factory=list)

    def count(self, verdict: str, failed: bool) -> None:
        self.counts["responses"] += 1
        self.counts[verdict] += 1
        self.counts["rescued"] += failed and verdict in READABLE

    def add(self, turn_id: int, trace: Trace) -> None:
        self.parses.append(row_values.parse_row(turn_id, trace))
        if trace.verdict == "repaired":
            self.repairs += row_values.repair_rows(turn_id, trace)


Pieces = Generator[ParsedPiece, None, None]


def plan(connection: sa.Connection, session_ids: set[int] | None) -> tuple[int, list[Piece]]:
    """How many responses these sessions have (None: all sessions), and their pieces in the order of their numbers."""
    query = sa.select(Session.id, Session.turn_count, Session.response_count)
    pieces: list[Piece] = []
    together: list[tuple[int, int]] = []
    size = total = 0
    for number, turns, responses in connection.execute(query.order_by(Session.id)).all():
        if session_ids is not None and number not in session_ids:
            continue
        total += responses
        is_long = turns > 2 * AT_ONCE
        if together and (is_long or size + turns > AT_ONCE):
            pieces.append(Piece(tuple(together)))
            together, size = [], 0
        if is_long:
            pieces += _parts(connection, number)
        else:
            together.append((number * TURNS_A_SESSION, (number + 1) * TURNS_A_SESSION - 1))
            size += turns
    return total, pieces + ([Piece(tuple(together))] if together else [])


def _parts(connection: sa.Connection, session_id: int) -> list[Piece]:
    last = connection.scalar(_last_ordinal, {"session": session_id}) or 0
    first, end = session_id * TURNS_A_SESSION, (session_id + 1) * TURNS_A_SESSION
    lows = [first + ordinal for ordinal in range(0, last + 1, AT_ONCE)]
    return [Piece(((low, high - 1),), True, high < end) for low, high in zip(lows, [*lows[1:], end], strict=True)]


def parsed(engine: sa.Engine, parser: Profile, pieces: Iterable[Piece], processes: int) -> Pieces:
    """All pieces in order, parsed by so many processes beside this one, or by this one alone. Raises `ProcessDied`."""
    if processes == 1:
        for piece in pieces:
            yield parse(engine, parser, piece)
        return
    about = (engine.url.render_as_string(hide_password=False), parser.name)
    fresh = multiprocessing.get_context("spawn")  # this process may have threads, which a fork would not survive
    with ProcessPoolExecutor(processes, fresh, _begin_worker, about) as pool:
        waiting: deque[Future[ParsedPiece]] = deque()
        try:
            for piece in pieces:
                waiting.append(_submitted(pool, piece))
                if len(waiting) > _WAITING * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as died:
            for child in multiprocessing.active_children():  # one that was just being started is waited for, for ever
                child.kill()
            raise ProcessDied from died
        finally:
            pool.shutdown(cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, piece: Piece) -> Future[ParsedPiece]:
    """A pool that a death has just closed raises `OSError` where it was about to start a process."""
    try:
        return pool.submit(_parse_here, piece)
    except OSError as closed:
        raise BrokenProcessPool(str(closed)) from closed


def parse(engine: sa.Engine, parser: Profile, piece: Piece) -> ParsedPiece:
    """Parse what is new of a piece."""
    done = ParsedPiece(piece)
    with engine.connect() as connection:
        for low, high in piece.ranges:
            known = "" if piece.again else parser.version
            about = {"profile": parser.name, "version": known, "low": low, "high": high}
            for batch in connection.execute(_responses, about).partitions():
                for turn_id, version, verdict, raw, failed in batch:
                    if version != known:
                        trace = parsing.parse(raw, parser)
                        verdict = trace.verdict
                        done.add(turn_id, trace)
                    done.count(verdict, bool(failed))
    return done


_here: dict[str, Any] = {}
"""what a process that parses gives to `parse`: its engine and the profile"""


def _begin_worker(url: str, profile: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _here.update(engine=database.connect(url), parser=parsing.profile(profile))


def _end_with_parent() -> None:
    """A process that is killed tells its workers nothing: they look themselves."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _parse_here(piece: Piece) -> ParsedPiece:
    return parse(piece=piece, **_here)
