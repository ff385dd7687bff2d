"""The texts of two turns, line by line: `/diff?a=SESSION.TURN&b=SESSION.TURN`."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from flask import Blueprint, render_template, request

from webapp.extensions import db
from webapp.store.sessions import turns as store
from webapp.store.sessions.filters import BadFilter
from webapp.web.labels import profile_values

blueprint = Blueprint("turn_diff", __name__)

LINES, LONGEST = 600, 100_000
"""of each text are compared: lines, and characters"""
_ADDRESS = re.compile(r"(?:.*/sessions/)?(?P<ident>[^/?#]+?)(?:/turns/|[. ])(?P<position>\d{1,9})(?:[?#].*)?")


@blueprint.get("/diff")
def show() -> str:
    """Without both turns, the form that asks for them."""
    sides = {name: request.args.get(name, "").strip() for name in ("a", "b")}
    details = {name: _turn(name, text) for name, text in sides.items() if text}
    texts = [details[name].turn.raw or "" for name in sides if name in details]
    context: dict[str, Any] = {"sides": sides, "details": details, "lines": None}
    if len(texts) == len(sides):
        parts = [text[:LONGEST].split("\n") for text in texts]
        cut = any(len(text) > LONGEST or len(part) > LINES for text, part in zip(texts, parts, strict=True))
        lines = profile_values.difference(*parts)
        context |= {"lines": lines, "same": texts[0] == texts[1], "cut": cut, "most": (LINES, LONGEST)}
    return render_template("turns/diff.html", **context)


def _turn(name: str, text: str) -> store.TurnDetail:
    """Raises `BadFilter`, `NoSuchSession` and `NoSuchTurn`."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise BadFilter(f"{name} must be a turn's address, or a session and a number as RUN.3, not {text[:80]!r}")
    return store.find_by_id(db.session, unquote(match["ident"]), int(match["position"]))
