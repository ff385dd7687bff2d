"""Why a model stopped, in words, with what nobody says: a call that is announced and not made, JSON cut by chance."""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.dumps.messages.beside import stop
from webapp.store.models import Turn

WORDS = {
    "length": "cut off at the token limit",
    "filtered": "stopped by a content filter",
    "refused": "the model refused",
    "malformed": "the provider could not read the model's call",
    "context": "the context is full",
    "paused": "paused, to go on in a further request",
    "error": "ended by an error",
}
"""of each reason that is worth a word"""


def stop_words(db: orm.Session, turn: Turn) -> str | None:
    """A clause about why the model stopped, where it did not just end or call a tool."""
    if turn.stop is None:
        return None
    if turn.stop == "tool_call" and turn.kind == "response" and not _has_call(db, turn):
        return f"the model stopped for a call (`{turn.stop_said}`), and there is no call"
    if turn.stop == "other":
        return f"the log says why the model stopped by a word that is not known: `{turn.stop_said}`"
    words = WORDS.get(turn.stop)
    if turn.stop == "length" and (said := stop(turn.stop_said)) and said.reason != "length":
        cap = f"its cap, {turn.tokens_out:,}" if turn.tokens_out else "its cap"
        return f"the answer has exactly as many tokens as {cap}, and the log says `{said.said}`"
    if turn.stop == "length" and _is_json(turn.raw):
        return f"{words} (`{turn.stop_said}`), and complete by chance"
    return words and f"{words} (`{turn.stop_said}`)"


def _has_call(db: orm.Session, turn: Turn) -> bool:
    of_answer = (Turn.session_id == turn.session_id, Turn.entry == turn.entry, Turn.kind == "tool_call")
    return db.scalar(sa.select(sa.exists().where(*of_answer))) is True


def _is_json(raw: str | None) -> bool:
    try:
        json.loads(raw or "")
    except (ValueError, RecursionError):
        return False
    return True
