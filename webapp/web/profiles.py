"""Profiles: the parsers that can be run over a response, what each of them does, and how right each is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, jsonify, render_template, request
from werkzeug.wrappers import Response

from webapp import plugins
from webapp.extensions import db
from webapp.parsing import profile, profiles
from webapp.store import scoreboard
from webapp.store.judging import OUTCOMES
from webapp.web.render import page

blueprint = Blueprint("profiles", __name__)

STEP = re.compile(r"(?:^|(?<=[.,] ))(\d+[ab]?)\. ")
LINES_A_PAGE = 50
BAD_OUTCOMES = ("wrong", "missed", "spurious")
SHORT = {
    "right": "right",
    "wrong": "silently wrong",
    "missed": "missed",
    "spurious": "spurious",
    "nothing": "rightly nothing",
}

REPORTS = {
    "000": "Fire Circle Parsing Bug Fixes",
    "001": "Regex Strictness Fix - Only Parse ```json Blocks",
    "002": "JSON Parsing Improvements",
    "003": "JSON Parsing Strategies",
    "004": "Malformed JSON Tool Calls Fix",
}
"""The five field reports' titles, by their numbers."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A profile as its page shows it."""

    name: str
    version: str
    help: str
    about: str
    report: str | None


def line(name: str) -> ProfileLine:
    """Raises `UnknownProfile`."""
    found = profile(name)
    help_text = plugins.help_of("webapp.parsing.profiles").get(name, "")
    report = REPORTS.get(getattr(found, "report", None) or "")
    return ProfileLine(name, found.version, help_text, getattr(found, "about", ""), report)


def paragraphs(about: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """What a profile says of itself: each line's opening words, and its numbered steps as (number, text)."""
    parts = []
    for line_ in filter(None, about.splitlines()):
        words, *steps = STEP.split(line_)
        parts.append((words.strip(), list(zip(steps[::2], (text.strip(" ,") for text in steps[1::2]), strict=True))))
    return parts


@blueprint.get("/profiles")
def index() -> Response:
    told = scoreboard.board(db.session)
    by = request.args.get("by")
    return page(
        "profiles/index.html",
        "profiles/_scored.html",
        profiles=[line(name) for name in profiles()],
        board=told,
        dimensions=scoreboard.DIMENSIONS,
        by=by if by in scoreboard.DIMENSIONS else scoreboard.DIMENSIONS[0],
        outcomes=OUTCOMES,
        short=SHORT,
    )


@blueprint.get("/profiles/<name>")
def show(name: str) -> str:
    found = line(name)
    told = scoreboard.board(db.session, (name,))
    other = request.args.get("against")
    return render_template(
        "profiles/show.html",
        profile=found,
        paragraphs=paragraphs(found.about),
        board=told,
        score=told.scores[name],
        failures=scoreboard.lines(db.session, name, outcomes=BAD_OUTCOMES, limit=30),
        others=[each for each in profiles() if each != name],
        against=other if other in profiles() else None,
        change=scoreboard.change(db.session, other, name) if other in profiles() else None,
        outcomes=OUTCOMES,
        short=SHORT,
    )


@blueprint.get("/profiles/<name>/responses")
def responses(name: str) -> Response:
    """The responses behind a cell of the scoreboard."""
    found = line(name)
    asked = asked_for()
    lines = scoreboard.lines(db.session, name, limit=LINES_A_PAGE + 1, **asked)
    more = len(lines) > LINES_A_PAGE
    return page(
        "profiles/responses.html",
        "profiles/_lines.html",
        profile=found,
        lines=lines[:LINES_A_PAGE],
        next=lines[LINES_A_PAGE - 1].labelled.turn.id if more else None,
        asked=asked,
        query=query_of(asked),
        outcomes=OUTCOMES,
        short=SHORT,
    )


@blueprint.get("/api/profiles")
def list_api() -> Response:
    told = scoreboard.board(db.session)
    lines = [{**_described(name), "score": score_dict(told.scores[name])} for name in profiles()]
    keys = ("compared", "unknown", "disputed", "waiting", "too_long")
    return jsonify(profiles=lines, by=by_dict(told), **{key: getattr(told, key) for key in keys})


def asked_for() -> dict[str, Any]:
    """Which cell the URL asks for: `outcome` (several with commas), one of model, cause, strategy, `after` a turn."""
    asked = request.args.get("outcome", "").split(",")
    dimension = next(((name, request.args[name]) for name in scoreboard.DIMENSIONS if name in request.args), None)
    after = request.args.get("after", -1, type=int)
    return {"outcomes": tuple(name for name in OUTCOMES if name in asked), "dimension": dimension, "after": after}


def query_of(asked: dict[str, Any]) -> dict[str, str]:
    """`asked_for` as the URL says it, but for the page."""
    query = {"outcome": ",".join(asked["outcomes"])} if asked["outcomes"] else {}
    return query | ({asked["dimension"][0]: asked["dimension"][1]} if asked["dimension"] else {})


def _described(name: str) -> dict[str, Any]:
    found = line(name)
    return {"name": found.name, "version": found.version, "help": found.help, "report": found.report}


def score_dict(score: scoreboard.Score) -> dict[str, Any]:
    """A score as the API gives it; shares with their 95 % interval after Wilson."""
    return {
        **{name: score.outcomes[name] for name in OUTCOMES},
        "precision": rate_dict(score.precision),
        "recall": rate_dict(score.recall),
        "by_policy": dict(score.policies),
    }


def rate_dict(rate: scoreboard.Rate) -> dict[str, Any]:
    return {"share": rate.share, "interval": rate.interval, "of": rate.of}


def by_dict(told: scoreboard.Scoreboard) -> dict[str, Any]:
    return {
        dimension: {
            value: {name: dict(score.outcomes) for name, score in scores.items()} for value, scores in values.items()
        }
        for dimension, values in told.by.items()
    }
