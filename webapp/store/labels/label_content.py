"""What a label says, and what of it is taken: judgement, cause, note and expected value, each within its limits.

Its history is what happened to each turn's labels, in order, so that nothing is overwritten without trace.
"""

from __future__ import annotations

import getpass
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext
from webapp.jsontext import same_as as same_as
from webapp.refusals import BadInput
from webapp.store.models import FinalLabel, Label, LabelEvent
from webapp.visible import is_seen

EXPECTS = ("one", "several", "none", "unknown")
"""one value, several in order, none (no JSON is meant), unknown (cut off: cannot be known)"""

_SPACE = re.compile(r"\s+")
_decoder = json.JSONDecoder()


class BadValue(ValueError):
    """A text holds no JSON at `at` (code points from 0); `line` and `column` count from 1."""

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


def read(text: str) -> list[Any]:
    """The JSON values in `text`, in order, with white space between them; raises `BadValue`."""
    values, at = [], 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        try:
            value, at = _decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise BadValue(error.msg, text, error.pos) from None
        except (RecursionError, ValueError):
            raise BadValue("nested too deeply, or a number too long to read", text, at) from None
        values.append(value)
    return values


def written(values: Sequence[Any]) -> str:
    """The text that `read` takes back."""
    return "\n".join(jsontext.pretty(value) for value in values)


JUDGEMENTS = {
    "right": "the value is what the model meant",
    "wrong": "there is a value, but not the one that the model meant",
    "missed": "the model meant JSON, and there is no value",
    "spurious": "the model meant no JSON, and there is a value",
    "unsure": "nobody can tell",
}
_RULED_OUT = {"wrong": ("none",), "missed": ("none",), "spurious": ("one", "several")}
"""what a label cannot expect, by judgement"""

LONGEST_AUTHOR = 200
LONGEST_CAUSE = 128
LONGEST_NOTE = 20_000
LARGEST_EXPECTED = 1024 * 1024
"""bytes of JSON"""
DEEPEST_EXPECTED = 200


class BadLabel(BadInput):
    """A label cannot be kept as given; the message says what is taken."""

    status, code = 422, "bad_label"


@dataclass(frozen=True, slots=True)
class LabelContent:
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
    source: str | None = None
    """where the expected value came from: a profile's name; None where somebody typed it"""

    @property
    def has_expected(self) -> bool:
        return self.expects in ("one", "several")


def checked(content: LabelContent) -> LabelContent:
    """What is kept of `content`; raises `BadLabel`."""
    texts = (_judgement(content.judgement), _cause(content.cause), checked_note(content.note))
    _refuse_contradiction(content)
    seconds = content.seconds if content.seconds is not None and 0 <= content.seconds < 86_400 else None
    expects = _expects(content)
    if not content.has_expected:
        return LabelContent(*texts, expects, None, seconds)
    return LabelContent(*texts, expects, _expected(content.expected), seconds, (content.source or "")[:128] or None)


def system_user() -> str:
    """Who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "somebody"


def checked_author(author: str) -> str:
    """The name as it is kept; raises `BadLabel`."""
    author = author.strip()
    if not author or len(author) > LONGEST_AUTHOR or not is_seen(author):
        raise BadLabel(f"an author is a name of 1 to {LONGEST_AUTHOR} characters that can be seen, on one line")
    return author


def _judgement(judgement: str) -> str:
    if not judgement:
        raise BadLabel(f"choose a judgement: {', '.join(JUDGEMENTS)}")
    if judgement not in JUDGEMENTS:
        raise BadLabel(f"a judgement is one of {', '.join(JUDGEMENTS)}, not {judgement[:100]!r}")
    return judgement


def _refuse_contradiction(content: LabelContent) -> None:
    """Refuse an expected value that the judgement's own words rule out."""
    if content.expects in _RULED_OUT.get(content.judgement, ()):
        expected = "no JSON is meant" if content.expects == "none" else "there is an expected value"
        words = JUDGEMENTS[content.judgement]
        raise BadLabel(f"{content.judgement} says that {words}, but the label says that {expected}")


def _cause(cause: str | None) -> str | None:
    cause = (cause or "").strip()
    if len(cause) > LONGEST_CAUSE or not is_seen(cause):
        raise BadLabel(f"a cause is a word or a few on one line, of at most {LONGEST_CAUSE} characters")
    return cause or None


def checked_note(note: str | None) -> str | None:
    """The note as it is kept; raises `BadLabel`."""
    note = (note or "").strip()
    if len(note) > LONGEST_NOTE:
        raise BadLabel(f"a note has at most {LONGEST_NOTE} characters; this one has {len(note)}")
    return note or None


def _expected(expected: Any) -> Any:
    try:
        size = len(jsontext.dumps(expected))
        deepest = jsontext.depth(expected)
    except (RecursionError, TypeError, ValueError):
        raise BadLabel("the expected value is not JSON, or nested too deeply") from None
    if deepest > DEEPEST_EXPECTED:
        raise BadLabel(f"the expected value is nested {deepest:,} deep; at most {DEEPEST_EXPECTED} are kept")
    if size > LARGEST_EXPECTED:
        raise BadLabel(f"the expected value takes {size} bytes of JSON; at most {LARGEST_EXPECTED} are kept")
    return expected


def _expects(content: LabelContent) -> str | None:
    if content.expects is None or content.expects in EXPECTS:
        if content.expects == "several" and not isinstance(content.expected, list):
            raise BadLabel("several expected values are given as a list, in their order")
        return content.expects
    raise BadLabel(f"a label expects {', '.join(EXPECTS)}, not {content.expects[:100]!r}")


SETTLING = ("settled", "unsettled", "resettled")
"""what happens to the settled label of a response; resettled is a cause that was renamed"""
RENAMING = ("renamed", "resettled")
ACTIONS = ("put", "removed", "undone", "imported", *SETTLING, *RENAMING)
FIELDS = ("judgement", "cause", "expects", "expected", "note", "seconds", "source")
SETTLED_FIELDS = ("judgement", "cause", "expects", "expected", "why")


def content_of(label: Label | FinalLabel) -> dict[str, Any]:
    """What a label, or a settled one, says, as an event keeps it."""
    names = SETTLED_FIELDS if isinstance(label, FinalLabel) else FIELDS
    return {name: getattr(label, name) for name in names} | {"made_at": label.made_at.isoformat()}


def is_of(event: LabelEvent, author: str) -> bool:
    """Whether an event happened to `author`'s label: to one of the turn's labels, and not to its settlement."""
    return event.action not in SETTLING and event.author == author


def record(
    db: orm.Session, turn_id: int, author: str, action: str, content: dict[str, Any], at: datetime | None = None
) -> None:
    """Add an event, without a commit."""
    values = {"turn_id": turn_id, "author": author, "action": action, "said": content}
    db.execute(sa.insert(LabelEvent).values(**values, happened_at=at or datetime.now(UTC)))


def of_turns(db: orm.Session, turn_ids: Iterable[int]) -> dict[int, list[LabelEvent]]:
    """The events of each turn, the newest first."""
    query = sa.select(LabelEvent).where(LabelEvent.turn_id.in_(list(turn_ids))).order_by(LabelEvent.id.desc())
    by_turn: dict[int, list[LabelEvent]] = {}
    for event in db.scalars(query):
        by_turn.setdefault(event.turn_id, []).append(event)
    return by_turn


def of_turn(db: orm.Session, turn_id: int) -> list[LabelEvent]:
    """The events of one turn, the newest first."""
    return of_turns(db, [turn_id]).get(turn_id, [])


def cause_before(db: orm.Session, label: Label | FinalLabel) -> str | None:
    """The cause that was renamed to the label's, if that is the last that happened to it."""
    of_label: sa.ColumnElement[bool] = LabelEvent.action.in_(SETTLING)
    if isinstance(label, Label):
        of_label = sa.and_(LabelEvent.author == label.author, ~of_label)
    query = sa.select(LabelEvent).where(LabelEvent.turn_id == label.turn_id, of_label)
    last = db.scalar(query.order_by(LabelEvent.id.desc()).limit(1))
    if last is None or last.action not in RENAMING or last.said.get("cause") != label.cause:
        return None
    return (last.said.get("was") or {}).get("cause")


def last_batch(db: orm.Session, author: str) -> list[LabelEvent]:
    """The events of the last that `author` did and did not undo, a save or a removal; none where there is no such."""
    undoable = LabelEvent.action.in_(("put", "removed", "undone"))
    query = sa.select(LabelEvent).where(LabelEvent.author == author, undoable).order_by(LabelEvent.id.desc())
    undone: set[str] = set()
    batch: str | None = None
    events: list[LabelEvent] = []
    with closing(db.scalars(query.execution_options(yield_per=500))) as newest_first:
        for event in newest_first:
            if "undoes" in event.said:
                undone.add(str(event.said["undoes"]))
            elif event.said.get("batch") not in undone:
                batch = batch or event.said.get("batch")
                if batch is None or event.said.get("batch") != batch:
                    break
                events.append(event)
    return events
