"""The question which parser a program uses, as the list, a session and a dump ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import request, url_for

from webapp.extensions import db, wake
from webapp.parsing import helps, profile
from webapp.store import tasks
from webapp.store.homes import trials
from webapp.store.homes.trials import Question
from webapp.store.models import Session, Task
from webapp.store.write.parser import UNKNOWN


@dataclass(frozen=True, slots=True)
class Choice:
    """One button: a profile, what it is in a line, on how many responses it would have failed or found no JSON, and
    whether it is a field report's."""

    profile: str
    help: str
    failed: int | None
    none: int | None
    reported: bool


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """What a banner draws. `fields` name the sessions for the form; `url` leads to the banner alone."""

    about: Question
    choices: list[Choice]
    fields: dict[str, Any]
    url: str
    back: str


def of_list() -> AskedQuestion | None:
    """About every session whose parser nobody named; None where there is none, or it was dismissed."""
    return _asked(trials.question(db.session.connection()), {"scope": "filters", "home": UNKNOWN}, {})


def of_session(session: Session) -> AskedQuestion | None:
    question = trials.question(db.session.connection(), Session.id == session.id)
    return _asked(question, {"scope": "keys", "ids": session.key}, {"session": session.key})


def of_dump(number: int) -> AskedQuestion | None:
    question = trials.question(db.session.connection(), trials.of_dump(number))
    return _asked(question, {"scope": "dump", "dump": number}, {"dump": number})


def _asked(question: Question | None, fields: dict[str, Any], about: dict[str, Any]) -> AskedQuestion | None:
    if question is None:
        return None
    if not question.is_counted:
        wake()
    back = request.args.get("back") or request.full_path.rstrip("?")
    url = url_for("homes.question", back=back, **about)
    return AskedQuestion(question, choices(question), fields, url, back)


def choices(question: Question) -> list[Choice]:
    """The parsers to choose from: the general ones first, those of field reports behind, Fencepost's own between."""
    help_texts = helps()
    lines = [
        Choice(
            *(candidate.profile, help_texts.get(candidate.profile, ""), candidate.failed, candidate.none),
            getattr(profile(candidate.profile), "report", None) is not None,
        )
        for candidate in question.candidates
    ]
    return sorted(lines, key=lambda line: (line.reported, line.profile == "fencepost"))


def running() -> Task | None:
    """The change of parsers that is under way, for its progress on every page that asks; it is worked on."""
    live = tasks.page(db.session.connection(), tasks.HOMES, live=True, limit=1)
    if not live:
        return None
    wake()
    return live[0]
