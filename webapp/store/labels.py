"""Labels: what people say of responses, kept whatever becomes of the session."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext
from webapp.store.dialect import change, upsert
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

CAUSES = (
    "extra-closing",
    "missing-closing",
    "double-braces",
    "control-chars",
    "trailing-comma",
    "missing-comma",
    "inner-quotes",
    "unbalanced-quotes",
    "single-quotes",
    "smart-quotes",
    "unquoted-keys",
    "comments",
    "ellipsis",
    "python-literals",
    "nan-infinity",
    "hex-numbers",
    "duplicate-keys",
    "truncated",
    "text-before-fence",
    "text-after-json",
    "missing-closing-fence",
    "unlabelled-fence",
    "multiple-fences",
    "fence-in-string",
    "string-with-braces",
    "concatenated",
    "array-root",
    "escaped-json",
    "xml-tool-tags",
    "think-blocks",
    "python-code-fp",
    "js-template-literals",
    "f-strings",
    "markdown-lists",
    "base64-blobs",
    "bom-zero-width",
    "lone-surrogates",
)
"""Causes to choose from at first: the kinds that the reports and the extraction cases name. Others may be given."""

LONGEST_AUTHOR = 200
LONGEST_CAUSE = 128
LONGEST_NOTE = 20_000
LARGEST_EXPECTED = 1024 * 1024
"""bytes of JSON"""


class BadLabel(ValueError):
    """A label cannot be kept as given; the message says what is taken."""


@dataclass(frozen=True, slots=True)
class LabelLine:
    """One label as the list shows it; `after` leads to the labels behind it."""

    id: int
    key: str
    external_id: str
    revision: int
    newest: bool
    position: int
    judgement: str
    cause: str | None
    note: str | None
    has_expected: bool
    expected: Any
    author: str
    made_at: datetime
    preview: str | None
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
) -> Label:
    """Set `author`'s label of `turn`, in place of one of theirs that was there, and commit. Raises `BadLabel`.

    `expected` counts only with `has_expected`, since null is a value that may be expected.
    """
    _check_turn(turn)
    values = {
        "author": _author(author),
        "judgement": _judgement(judgement),
        "cause": _cause(cause),
        "note": _note(note),
        "expected": _expected(expected) if has_expected else None,
        "has_expected": has_expected,
        "made_at": datetime.now(UTC),
    }
    dialect = db.get_bind().dialect.name
    db.execute(upsert(dialect, Label, {"turn_id": turn.id, **values}, ("turn_id", "author")))
    mine = sa.select(Label).where(Label.turn_id == turn.id, Label.author == values["author"])
    label = db.scalars(mine.execution_options(populate_existing=True)).one()
    _save(db, turn)
    return label


def remove(db: orm.Session, turn: Turn, *, author: str) -> bool:
    """Take `author`'s label of `turn` away and commit; False where there is none."""
    label = db.scalar(sa.select(Label).where(Label.turn_id == turn.id, Label.author == author))
    if label is None:
        return False
    db.delete(label)
    _save(db, turn)
    return True


def of_turn(db: orm.Session, turn: Turn) -> list[Label]:
    """The labels of `turn`, the newest first."""
    return list(db.scalars(sa.select(Label).where(Label.turn_id == turn.id).order_by(Label.made_at.desc(), Label.id)))


def page(db: orm.Session, *, after: str | None = None, limit: int = 50) -> list[LabelLine]:
    """Labels, the newest first, behind `after`; raises `BadCursor`. Fewer than `limit` are the last ones."""
    order = (Label.made_at, Label.id)
    query = (
        sa.select(
            *(getattr(Label, name) for name in ("id", "judgement", "cause", "note", "has_expected", "expected")),
            Label.author,
            Label.made_at,
            *(Session.key, Session.external_id, Session.revision, Session.newest, Turn.position),
            sa.func.substr(Turn.raw, 1, 4 * PREVIEW, type_=sa.LargeBinary()).label("head"),
        )
        .join(Turn, Turn.id == Label.turn_id)
        .join(Session, Session.id == Turn.session_id)
        .order_by(*(column.desc() for column in order))
        .limit(limit)
    )
    if after is not None:
        made_at, label_id = _decode(after)
        behind = (sa.literal(made_at, Label.made_at.type), sa.literal(label_id, sa.BigInteger()))
        query = query.where(sa.tuple_(*order) < sa.tuple_(*behind))
    return [_line(row) for row in db.execute(query)]


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


def _author(author: str) -> str:
    author = author.strip()
    if not author or len(author) > LONGEST_AUTHOR:
        raise BadLabel(f"an author is a name of 1 to {LONGEST_AUTHOR} characters")
    return author


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
