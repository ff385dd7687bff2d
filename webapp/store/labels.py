"""Labels: what people say of responses, kept whatever becomes of the session."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext
from webapp.store import heads, search
from webapp.store.dialect import change, insert_new, upsert
from webapp.store.labelling import causes, history
from webapp.store.labelling.values import EXPECTS
from webapp.store.models import Label, Session, Turn
from webapp.store.sessions import BadCursor
from webapp.store.turns import MODEL_KINDS, PREVIEW, preview

JUDGEMENTS = {
    "right": "the value is what the model meant",
    "wrong": "a value came out, but not what the model meant",
    "missed": "JSON was meant and none came out",
    "spurious": "no JSON was meant and a value came out",
    "unsure": "cannot be told",
}
CAUSES = causes.names()
"""Causes to choose from at first. Others may be given."""

LONGEST_AUTHOR = 200
LONGEST_CAUSE = 128
LONGEST_NOTE = 20_000
LARGEST_EXPECTED = 1024 * 1024
"""bytes of JSON"""


class BadLabel(ValueError):
    """A label cannot be kept as given; the message says what is taken."""


class Conflict(RuntimeError):
    """The label was changed since it was seen, by the same name elsewhere; `stored` is what it says now, or None."""

    def __init__(self, stored: Label | None) -> None:
        super().__init__("this label was changed meanwhile in another window")
        self.stored = stored


@dataclass(frozen=True, slots=True)
class Said:
    """What a label says. `expected` is one value, or the list of them where `expects` is several.

    `expects` is one, several, none (no JSON is meant), unknown (cut off: cannot be known), or None where nothing
    was said of it. `seconds` is how long the person looked.
    """

    judgement: str
    cause: str | None = None
    note: str | None = None
    expects: str | None = None
    expected: Any = None
    seconds: float | None = None

    @property
    def has_expected(self) -> bool:
        return self.expects in ("one", "several")


@dataclass(frozen=True, slots=True)
class LabelLine:
    """One label as the list shows it; `after` leads to the labels behind it.

    `blind` says that the viewer has not labelled this response yet, so that a page does not tell what others said.
    """

    id: int
    turn_id: int
    key: str
    external_id: str
    revision: int
    newest: bool
    position: int
    judgement: str
    cause: str | None
    note: str | None
    has_expected: bool
    expects: str | None
    expected: Any
    author: str
    seconds: float | None
    made_at: datetime
    preview: str | None
    blind: bool
    after: str


def put(
    db: orm.Session,
    turn: Turn,
    *,
    author: str,
    judgement: str,
    cause: str | None = None,
    note: str | None = None,
    expected: Any = None,
    has_expected: bool = False,
    expects: str | None = None,
    seconds: float | None = None,
    seen: str | None = None,
) -> Label:
    """Set `author`'s label of `turn`, in place of one of theirs that was there, and commit. Raises `BadLabel`.

    `expected` counts only with `has_expected`, since null is a value that may be expected, or with an `expects`.
    `seen` is the `stamp` that the author last saw; where the label has another by now, raises `Conflict`.
    """
    expects = expects or ("one" if has_expected else None)
    said = Said(judgement, cause, note, expects, expected, seconds)
    return put_all(db, [(turn, said)], author=author, seen=seen)


def put_all(
    db: orm.Session, labels: Sequence[tuple[Turn, Said]], *, author: str, seen: str | None = None, like: str = ""
) -> Label:
    """Set the first label as `put` does and give the others to turns that `author` has not labelled, at once.

    `like` names the first response in the history of the others. Returns the first label.
    """
    author = checked_author(author)
    batch = str(uuid.uuid4())
    for index, (turn, said) in enumerate(labels):
        _check_turn(turn)
        said = checked(said)
        said = Said(**{**_fields(said), "cause": causes.resolve(db, said.cause, author)})
        if not _write(db, turn, author, said, {"batch": batch} | ({"like": like} if index else {}), seen, index > 0):
            db.rollback()
            raise Conflict(of_author(db, turn, author))
    _save(db, *(turn for turn, _ in labels))
    label = of_author(db, labels[0][0], author)
    if label is None:
        raise Conflict(None)
    return label


def remove(db: orm.Session, turn: Turn, *, author: str) -> bool:
    """Take `author`'s label of `turn` away and commit; False where there is none."""
    label = of_author(db, turn, author)
    if label is None:
        return False
    was = history.said(label)
    history.record(db, turn.id, author, "removed", {**was, "was": was, "batch": str(uuid.uuid4())})
    db.delete(label)
    _save(db, turn)
    return True


def undo(db: orm.Session, author: str) -> list[Turn]:
    """Undo `author`'s last save or removal, in every response that it wrote, and commit; the turns that changed."""
    events = history.last_batch(db, author)
    changed = []
    for event in events:
        turn = db.get(Turn, event.turn_id)
        if turn is not None:
            restore(db, turn, author, event.said.get("was"))
            left = event.said.get("was") or {}
            history.record(db, turn.id, author, "undone", {**left, "undoes": event.said.get("batch")})
            changed.append(turn)
    _save(db, *changed)
    return changed[::-1]


def restore(db: orm.Session, turn: Turn, author: str, was: dict[str, Any] | None) -> None:
    """Make `author`'s label of `turn` what an event says that it was, or take it away; without a commit."""
    if was is None:
        db.execute(sa.delete(Label).where(Label.turn_id == turn.id, Label.author == author))
        return
    values = {name: was.get(name) for name in history.SAID}
    values |= {"has_expected": was.get("expects") in ("one", "several")}
    values |= {"cause": causes.resolve(db, was.get("cause"), author)}
    values |= {"made_at": datetime.fromisoformat(was["made_at"]), "turn_id": turn.id, "author": author}
    db.execute(upsert(db.get_bind().dialect.name, Label, values, ("turn_id", "author")))


def of_turn(db: orm.Session, turn: Turn) -> list[Label]:
    """The labels of `turn`, the newest first."""
    return list(db.scalars(_of_turn, {"turn": turn.id}))


_of_turn = sa.select(Label).where(Label.turn_id == sa.bindparam("turn")).order_by(Label.made_at.desc(), Label.id)


def of_author(db: orm.Session, turn: Turn, author: str) -> Label | None:
    """What `author` says of `turn` now."""
    mine = sa.select(Label).where(Label.turn_id == turn.id, Label.author == author)
    return db.scalar(mine.execution_options(populate_existing=True))


def stamp(label: Label | None) -> str:
    """What tells one state of a label from another; empty where there is none."""
    return "" if label is None else label.made_at.isoformat()


def page(
    db: orm.Session,
    *,
    after: str | None = None,
    limit: int = 50,
    author: str | None = None,
    judgement: str | None = None,
    viewer: str | None = None,
) -> list[LabelLine]:
    """Labels, the newest first, behind `after`; raises `BadCursor`. Fewer than `limit` are the last ones.

    `author` and `judgement` narrow them; `viewer` is who must not be told what they have not labelled themselves.
    """
    order = (Label.made_at, Label.id)
    query = _lines(viewer).order_by(*(column.desc() for column in order)).limit(limit)
    if author:
        query = query.where(Label.author == author)
    if judgement:
        query = query.where(Label.judgement == judgement)
    if after is not None:
        made_at, label_id = _decode(after)
        behind = (sa.literal(made_at, Label.made_at.type), sa.literal(label_id, sa.BigInteger()))
        query = query.where(sa.tuple_(*order) < sa.tuple_(*behind))
    return [_line(row) for row in db.execute(query)]


def authors(db: orm.Session) -> dict[str, int]:
    """Who labelled, and how many responses."""
    query = sa.select(Label.author, sa.func.count()).group_by(Label.author)
    return dict(sorted(((author, count) for author, count in db.execute(query)), key=lambda pair: (-pair[1], pair[0])))


def checked(said: Said) -> Said:
    """What is kept of `said`; raises `BadLabel`."""
    expects = _expects(said)
    expected = _expected(said.expected) if expects in ("one", "several") else None
    return Said(
        _judgement(said.judgement), _cause(said.cause), _note(said.note), expects, expected, _seconds(said.seconds)
    )


def checked_author(author: str) -> str:
    """The name as it is kept; raises `BadLabel`."""
    author = author.strip()
    if not author or len(author) > LONGEST_AUTHOR:
        raise BadLabel(f"an author is a name of 1 to {LONGEST_AUTHOR} characters")
    return author


def _write(
    db: orm.Session, turn: Turn, author: str, said: Said, more: dict[str, str], seen: str | None, other: bool
) -> bool:
    """Write one label and its event; False where the one that is there is not the one that was seen.

    `other` responses of a group keep the label that their author gave them before.
    """
    stored = of_author(db, turn, author)
    was = None if stored is None else history.said(stored)
    if other and was is not None:
        return True
    now = datetime.now(UTC)
    values = {**_fields(said), "has_expected": said.has_expected, "made_at": now, "turn_id": turn.id, "author": author}
    if not _put(db, values, "" if other else seen):
        stored = of_author(db, turn, author)
        return other or (stored is not None and _fields(said) | _timeless == _fields(stored) | _timeless)
    label = of_author(db, turn, author)
    history.record(db, turn.id, author, "put", {**history.said(label), "was": was, **more})
    return True


_timeless = {"seconds": None}


def _put(db: orm.Session, values: dict[str, Any], seen: str | None) -> bool:
    dialect = db.get_bind().dialect.name
    if seen is None:
        db.execute(upsert(dialect, Label, values, ("turn_id", "author")))
        return True
    if not seen:
        made = insert_new(dialect, Label, values, ("turn_id", "author")).returning(Label.id)
        return db.scalar(made) is not None
    try:
        stamped = datetime.fromisoformat(seen)
    except ValueError:
        return False
    same = sa.update(Label).where(Label.turn_id == values["turn_id"], Label.author == values["author"])
    done = same.where(Label.made_at == stamped).values(values).returning(Label.id)
    return db.scalar(done, execution_options={"synchronize_session": False}) is not None


def _fields(said: Any) -> dict[str, Any]:
    return {name: getattr(said, name) for name in history.SAID}


def _lines(viewer: str | None) -> sa.Select[*tuple[Any, ...]]:
    names = ("id", "turn_id", "judgement", "cause", "note", "has_expected", "expects", "expected", "author", "seconds")
    mine = orm.aliased(Label)
    own = sa.exists().where(mine.turn_id == Label.turn_id, mine.author == viewer)
    query: sa.Select[*tuple[Any, ...]] = sa.select(
        *(getattr(Label, name) for name in names),
        Label.made_at,
        *(Session.key, Session.external_id, Session.revision, Session.newest, Turn.position),
        heads.head(Turn.raw, 4 * PREVIEW).label("head"),
        (~own if viewer else sa.false()).label("blind"),
    )
    query = query.join(Turn, Turn.id == Label.turn_id).join(Session, Session.id == Turn.session_id)
    return query.where(Session.deleted_at.is_(None))


def _line(row: sa.Row[*tuple[Any, ...]]) -> LabelLine:
    values = dict(row._mapping)
    head = values.pop("head")
    cursor = base64.urlsafe_b64encode(f"{row.made_at.isoformat()} {row.id}".encode()).decode().rstrip("=")
    return LabelLine(**values, preview=None if head is None else preview(bytes(head)), after=cursor)


def _decode(after: str) -> tuple[datetime, int]:
    try:
        text = base64.urlsafe_b64decode(after.encode("ascii") + b"=" * (-len(after) % 4)).decode("ascii")
        made_at, _, label_id = text.partition(" ")
        cursor = datetime.fromisoformat(made_at), int(label_id)
    except (ValueError, binascii.Error):
        raise BadCursor("after is not what an earlier page gave") from None
    if cursor[0].tzinfo is None or not 0 <= cursor[1] < 2**63:
        raise BadCursor("after is not what an earlier page gave")
    return cursor


def _save(db: orm.Session, *turns: Turn) -> None:
    """Write what changed and count the labelled responses of these turns' sessions anew, in one transaction."""
    db.flush()
    search.noted(db.connection(), (turn.id for turn in turns))
    for session_id in sorted({turn.session_id for turn in turns}):
        labelled = (
            sa.select(sa.func.count(Label.turn_id.distinct()))
            .join(Turn, Turn.id == Label.turn_id)
            .where(Turn.session_id == session_id)
            .scalar_subquery()
        )
        db.execute(
            sa.update(Session).where(Session.id == session_id).values(label_count=labelled, changed=change()),
            execution_options={"synchronize_session": False},
        )
    db.commit()


def _check_turn(turn: Turn) -> None:
    if turn.kind not in MODEL_KINDS or turn.raw is None:
        raise BadLabel(f"turn {turn.position} is a {turn.kind} that no model wrote; only responses are labelled")
    if turn.duplicate_of is not None:
        raise BadLabel(f"this entry was merged into turn {turn.position}; the label belongs there")


def _judgement(judgement: str) -> str:
    if judgement not in JUDGEMENTS:
        raise BadLabel(f"a judgement is one of {', '.join(JUDGEMENTS)}, not {judgement[:100]!r}")
    return judgement


def _cause(cause: str | None) -> str | None:
    cause = (cause or "").strip()
    if len(cause) > LONGEST_CAUSE or not cause.isprintable():
        raise BadLabel(f"a cause is a word or a few on one line, of at most {LONGEST_CAUSE} characters")
    return cause or None


def _note(note: str | None) -> str | None:
    note = (note or "").strip()
    if len(note) > LONGEST_NOTE:
        raise BadLabel(f"a note has at most {LONGEST_NOTE} characters; this one has {len(note)}")
    return note or None


def _expected(expected: Any) -> Any:
    try:
        size = len(jsontext.dumps(expected))
    except (RecursionError, TypeError, ValueError):
        raise BadLabel("the expected value is not JSON, or nested too deeply") from None
    if size > LARGEST_EXPECTED:
        raise BadLabel(f"the expected value takes {size} bytes of JSON; at most {LARGEST_EXPECTED} are kept")
    return expected


def _expects(said: Said) -> str | None:
    if said.expects is None or said.expects in EXPECTS:
        if said.expects == "several" and not isinstance(said.expected, list):
            raise BadLabel("several expected values are given as a list, in their order")
        return said.expects
    raise BadLabel(f"a label expects {', '.join(EXPECTS)}, not {said.expects[:100]!r}")


def _seconds(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds < 86_400 else None
