"""What the debugger reads: one response's traces under several profiles at once, and the turns around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.store.models import Parse, Session, Turn
from webapp.store.turns import MODEL_KINDS, TurnDetail

EXCERPT = 1_200
"""code points"""
MOST_AFTER = 3
REMEMBERED_LENGTH = 16 * 1024
_ASKED_FOR = ("prompt", "tool_result", "error")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a turn's text: at most `EXCERPT` code points; `more` says that there is more of it."""

    position: int
    kind: str
    role: str | None
    agent: str | None
    text: str
    more: bool


def reader(db: orm.Session, detail: TurnDetail, names: Iterable[str]) -> Callable[[str], parsing.Trace]:
    """Gives the trace under each of `names`: as stored where its version is current, else made when asked for.

    Raises `UnknownProfile` for a name that no profile has.
    """
    known = {parse.profile: parse for parse in (detail.home, detail.fencepost) if parse is not None}
    missing = [name for name in names if name not in known]
    query = sa.select(Parse).where(Parse.turn_id == detail.turn.id, Parse.profile.in_(missing))
    known |= {parse.profile: parse for parse in db.scalars(query)} if missing else {}

    def trace(name: str) -> parsing.Trace:
        stored = known.get(name)
        if stored is not None and stored.version == parsing.profile(name).version:
            return parsing.Trace.from_dict(stored.trace)
        return parsed(detail.turn.raw or "", name)

    return trace


def parsed(raw: str, name: str) -> parsing.Trace:
    """The trace made now; of a short text it is remembered, since a debugger's steps ask for it again."""
    if len(raw) > REMEMBERED_LENGTH:
        return parsing.parse(raw, name)
    return _remembered(raw, name, parsing.profile(name).version)


@lru_cache(maxsize=128)
def _remembered(raw: str, name: str, version: str) -> parsing.Trace:
    return parsing.parse(raw, name)


def before(db: orm.Session, session: Session, position: int) -> Excerpt | None:
    """The nearest turn before that the response answers: a prompt, a tool result or an error."""
    query = _excerpts(session).where(Turn.position < position, Turn.kind.in_(_ASKED_FOR))
    found = db.execute(query.order_by(Turn.position.desc()).limit(1)).first()
    return None if found is None else _excerpt(found)


def after(db: orm.Session, session: Session, position: int) -> list[Excerpt]:
    """What came of it: the tool results and errors before the next response or prompt, at most three.

    Where there are none, the prompt that follows: some programs send their validation errors as one.
    """
    query = _excerpts(session).where(Turn.position > position, Turn.kind != "event")
    found = []
    for row in db.execute(query.order_by(Turn.position).limit(MOST_AFTER)):
        if row.kind in MODEL_KINDS or (row.kind == "prompt" and found):
            break
        found.append(_excerpt(row))
    return found


def _excerpts(session: Session) -> sa.Select[int, str, str | None, str | None, bytes, int]:
    head = sa.func.substr(Turn.raw, 1, 4 * EXCERPT, type_=sa.LargeBinary()).label("head")
    length = sa.func.length(Turn.raw, type_=sa.Integer()).label("length")
    here = (Turn.session_id == session.id, Turn.duplicate_of.is_(None), Turn.raw.is_not(None))
    return sa.select(Turn.position, Turn.kind, Turn.role, Turn.agent, head, length).where(*here)


def _excerpt(row: sa.Row[int, str, str | None, str | None, bytes, int]) -> Excerpt:
    text = decoded(bytes(row.head))
    return Excerpt(
        row.position, row.kind, row.role, row.agent, text[:EXCERPT], row.length > len(row.head) or len(text) > EXCERPT
    )


def decoded(head: bytes) -> str:
    """A text that begins with `head`, without the character in which it was cut."""
    for cut in range(4):
        try:
            return head[: len(head) - cut].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            continue
    return head.decode("utf-8", "replace")
