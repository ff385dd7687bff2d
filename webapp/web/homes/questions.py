"""The question which parser a program uses, as the list, a session and a dump ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import request, url_for

from webapp.extensions import db
from webapp.parsing import helps, profile
from webapp.store.homes import trials
from webapp.store.homes.trials import Question
from webapp.store.models import Session
from webapp.store.write.home import UNKNOWN
from webapp.web.dumps import worker_process


@dataclass(frozen=True, slots=True)
class Choice:
    """One button: a profile, what it is in a line, and on how many responses it would have failed or found no JSON."""

    profile: str
    help: str
    failed: int | None
    none: int | None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """What a banner draws. `fields` name the sessions for the form; `url` leads to the banner alone."""

    sessions: int
    responses: int
    not_json: int
    counted: int
    choices: list[Choice]
    fields: dict[str, Any]
    url: str
    back: str

    @property
    def is_counted(self) -> bool:
        return self.counted == self.sessions


def of_list() -> AskedQuestion | None:
    """About every session whose parser nobody named; None where there is none, or it was dismissed."""
    return _asked(trials.question_of_all(db.session), {"scope": "filters", "home": UNKNOWN}, {})


def of_session(session: Session) -> AskedQuestion | None:
    question = trials.question(db.session.connection(), Session.id == session.id)
    return _asked(question, {"scope": "keys", "ids": session.key}, {"session": session.key})


def of_dump(number: int) -> AskedQuestion | None:
    question = trials.question(db.session.connection(), trials.of_dump(number))
    return _asked(question, {"scope": "dump", "dump": number}, {"dump": number})


def _asked(question: Question | None, fields: dict[str, Any], about: dict[str, Any]) -> AskedQuestion | None:
    if question is None or not question.not_json:
        return None
    if not question.is_counted:
        worker_process.wake()
    back = request.args.get("back") or request.full_path.rstrip("?")
    url = url_for("homes.question", back=back, **about)
    counts = (question.sessions, question.responses, question.not_json, question.counted)
    return AskedQuestion(*counts, choices(question), fields, url, back)


def choices(question: Question) -> list[Choice]:
    """The parsers to choose from: the general ones first, those of field reports behind, Fencepost's own between."""
    help_texts = helps()
    lines = [
        Choice(candidate.profile, help_texts.get(candidate.profile, ""), candidate.failed, candidate.none)
        for candidate in question.candidates
    ]
    reported = {line.profile for line in lines if getattr(profile(line.profile), "report", None) is not None}
    return sorted(lines, key=lambda line: (line.profile in reported, line.profile == "fencepost"))
