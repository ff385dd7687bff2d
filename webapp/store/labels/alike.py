"""Responses that are near-identical: which are, one of each sort first, and what one label says of all of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.ids import batched
from webapp.store.labels.label_content import LabelContent, same_as
from webapp.store.models import FailedResponse, Parse, Session, Turn, is_response
from webapp.store.sessions.filters import HOME
from webapp.store.write.parser import OURS
from webapp.store.write.stored_turns import home_parse, join_parses, our_parse

MOST = 1_000
"""how many responses are looked at for one, and one label can serve"""
_COMPARED = 20_000
"""code points from the beginning that are compared; the length of what follows is, too"""
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ID = re.compile(r"\b(?=[0-9a-fA-F-]*\d)[0-9a-fA-F]{6,}(?:-[0-9a-fA-F]{2,})*\b|\b\w*\d\w*\d\w*\d\w*\b")
_NUMBER = re.compile(r"(?<![A-Za-z_])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SPACE = re.compile(r"\s+")
_SHORT = 24
_texts: sa.Select[Any] = join_parses(
    sa.select(
        *(Turn.id, Turn.raw, Session.home_profile, home_parse.verdict.label("home"), our_parse.verdict.label("ours")),
    )
    .join(Session, Session.id == Turn.session_id)
    .where(is_response, Session.deleted_at.is_(None)),
    Session.home_profile,
)


def to(db: orm.Session, turn: Turn, candidates: Sequence[int]) -> list[sa.Row[Turn, Session]]:
    """Those of the first `MOST` candidates that are like this response: what is like it fails in the same way."""
    own = db.execute(_texts.where(Turn.id == turn.id)).first()
    if own is None:
        return []
    marks = ((home_parse.verdict, own.home), (our_parse.verdict, own.ours), (Session.home_profile, own.home_profile))
    texts = _texts.where(*(column.is_not_distinct_from(mark) for column, mark in marks))
    at_home = FailedResponse.under == HOME
    here = sa.and_(at_home, FailedResponse.session_id == turn.session_id, FailedResponse.turn_id == turn.id)
    if (key := db.scalar(sa.select(FailedResponse.group_key).where(here))) is not None:
        group = sa.select(FailedResponse.turn_id).where(at_home, FailedResponse.group_key == key)
        texts = texts.where(Turn.id.in_(group))
    sorts, sort = _sorts(db, candidates[:MOST], texts), likeness(own.raw, own.home_profile, own.home, own.ours)
    same = [number for number in candidates[:MOST] if sorts.get(number) == sort]
    query = sa.select(Turn, Session).join(Session, Session.id == Turn.session_id).where(Turn.id.in_(same))
    responses = {row.Turn.id: row for row in db.execute(query)} if same else {}
    return [responses[number] for number in same if number in responses]


def one_of_each_first(db: orm.Session, turn_ids: Sequence[int]) -> list[int]:
    """These responses, given with the newest first: one of each sort, of the largest sort first, then the others."""
    sorts: dict[bytes, list[int]] = {}
    digests = _sorts(db, turn_ids)
    for number in turn_ids:
        if number in digests:
            sorts.setdefault(digests[number], []).append(number)
    ordered = sorted(sorts.values(), key=lambda same: -len(same))
    return [*(same[0] for same in ordered), *(number for same in ordered for number in sorted(same[1:]))]


def _sorts(db: orm.Session, turn_ids: Sequence[int], texts: sa.Select[Any] = _texts) -> dict[int, bytes]:
    """The likeness of those of these turns that are among `texts`."""
    rows = (row for batch in batched(turn_ids, MOST) for row in db.execute(texts.where(Turn.id.in_(batch))))
    return {row.id: likeness(row.raw, row.home_profile, row.home, row.ours) for row in rows}


def likeness(raw: str, *marks: str | None) -> bytes:
    """16 bytes that near-identical responses share: the same text but for white space, numbers, ids and long strings.

    `marks` must be the same too: how the parsers took it.
    """
    text = "\x00".join([plain(raw), *(mark or "" for mark in marks)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def plain(raw: str) -> str:
    """`raw` with what differs from one response to its like left out."""
    text = _STRING.sub(lambda match: match[0] if len(match[1]) <= _SHORT else '"…"', raw[:_COMPARED])
    text = _NUMBER.sub("0", _ID.sub("0", text))
    rest = "" if len(raw) <= _COMPARED else f"…{(len(raw) - _COMPARED).bit_length()}"
    return _SPACE.sub(" ", text).strip() + rest


def served(
    db: orm.Session, turn: Turn, content: LabelContent, alike_turns: Sequence[Turn]
) -> list[tuple[Turn, LabelContent]]:
    """What one label says of the responses like its own.

    The judgement, the cause, and that no JSON or nothing certain is expected hold for all. An expected value holds
    where the text is the same; elsewhere, where it is what a profile reads here, what that profile reads there; and
    where it is neither, nothing is said of the expected value.
    """
    profile = _reader(db, turn, content)
    values = _values(db, [same.id for same in alike_turns], profile) if profile else {}
    return [(same, _for_other(turn, content, same, values.get(same.id))) for same in alike_turns]


def _for_other(turn: Turn, content: LabelContent, same: Turn, values: list[Any] | None) -> LabelContent:
    content = replace(content, seconds=None)
    if not content.has_expected or same.raw_sha256 == turn.raw_sha256:
        return content
    if values is None:
        return replace(content, expects=None, expected=None)
    is_one = len(values) == 1
    return replace(content, expects="one" if is_one else "several", expected=values[0] if is_one else values)


def _reader(db: orm.Session, turn: Turn, content: LabelContent) -> str | None:
    """A profile whose stored value is the expected one, `fencepost` first."""
    if not content.has_expected:
        return None
    expected = same_as(content.expected if content.expects == "several" else [content.expected])
    parses = db.scalars(sa.select(Parse).where(Parse.turn_id == turn.id)).all()
    for parse in sorted(parses, key=lambda parse: (parse.profile != OURS, parse.profile)):
        if parse.trace["chosen"] and same_as(parse.trace["values"]) == expected:
            return parse.profile
    return None


def _values(db: orm.Session, turn_ids: list[int], profile: str) -> dict[int, list[Any]]:
    query = sa.select(Parse.turn_id, Parse.trace).where(Parse.turn_id.in_(turn_ids), Parse.profile == profile)
    return {row.turn_id: row.trace["values"] for row in db.execute(query) if row.trace["chosen"]}
