"""Profiles: the parsers that can be run over a response, what each does, how right each is, and running one."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from flask import Blueprint, Response, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.gate.judging import OUTCOMES
from webapp.gate.reports import SHORT
from webapp.parsing import helps, profile, profiles, why_absent
from webapp.parsing.profiles._about import GROUPS, OWN
from webapp.parsing.profiles._about import REPORTS as REPORTED
from webapp.parsing.released import words_of_release
from webapp.store import tasks
from webapp.store.compare import scoreboard
from webapp.store.jobs import replays
from webapp.store.labels import label_list
from webapp.store.models import Task
from webapp.store.sessions import facets
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.web import task_pages
from webapp.web.answers import page
from webapp.web.api.operation import FILTERS, json, operation
from webapp.web.api.shapes import filled
from webapp.web.links import own_path

blueprint = Blueprint("profiles", __name__)

STEP = re.compile(r"(?:^|(?<=[.,] ))(\d+[ab]?)\. ")
LINES_A_PAGE = 50
BAD_OUTCOMES = ("wrong", "missed", "spurious")
REPORTS = {
    "000": "Fire Circle Parsing Bug Fixes",
    "001": "Regex Strictness Fix - Only Parse ```json Blocks",
    "002": "JSON Parsing Improvements",
    "003": "JSON Parsing Strategies",
    "004": "Malformed JSON Tool Calls Fix",
}
"""The five field reports' titles, by their numbers."""


class ProfileLine(NamedTuple):
    """A profile as its page shows it; `absent` says why it cannot run."""

    name: str
    version: str
    help: str
    about: str
    report: str | None
    group: str
    absent: str | None


def line(name: str) -> ProfileLine:
    """Raises `UnknownProfile`."""
    parser = profile(name)
    return ProfileLine(
        name=name,
        version=parser.version,
        help=helps().get(name, ""),
        about="\n".join(filter(None, (getattr(parser, "about", ""), words_of_release(name, parser.version)))),
        report=REPORTS.get(getattr(parser, "report", None) or ""),
        group=getattr(parser, "group", None) or OWN,
        absent=why_absent(parser),
    )


def paragraphs(about: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """What a profile says of itself: each line's opening words, and its numbered steps as (number, text)."""
    parts = []
    for line_ in filter(None, about.splitlines()):
        words, *steps = STEP.split(line_)
        parts.append((words.strip(), list(zip(steps[::2], (text.strip(" ,") for text in steps[1::2]), strict=True))))
    return parts


def groups(lines: list[ProfileLine]) -> dict[str, list[ProfileLine]]:
    """The profiles by group, without the empty ones."""
    return {group: members for group in GROUPS if (members := [one for one in lines if one.group == group])}


def _matches(profile_line: ProfileLine, looked_for: str) -> bool:
    """Whether each word that is looked for stands in what the profile says of itself."""
    text = f"{profile_line.name} {profile_line.help} {profile_line.group} {profile_line.about}".lower()
    return all(word in text for word in looked_for.lower().split())


@blueprint.get("/profiles")
def index() -> Response:
    board = scoreboard.board(db.session)
    by = request.args.get("by")
    looked_for = request.args.get("q", "").strip()
    lines = [profile_line for name in profiles() if _matches(profile_line := line(name), looked_for)]
    return page(
        "profiles/index.html",
        "profiles/_scored.html",
        profiles=lines,
        groups=groups(lines),
        reports=REPORTED,
        looked_for=looked_for,
        coverage=facets.coverage_of_profiles(db.session),
        tasks=tasks.page(db.session.connection(), tasks.REPLAY, live=True),
        board=board,
        sources=label_list.sources(db.session),
        dimensions=scoreboard.DIMENSIONS,
        by=by if by in scoreboard.DIMENSIONS else scoreboard.DIMENSIONS[0],
        outcomes=OUTCOMES,
        short=SHORT,
    )


@blueprint.get("/profiles/<path:name>")
def show(name: str) -> str:
    profile_line = line(name)
    board = scoreboard.board(db.session, (name,))
    against = request.args.get("against")
    return render_template(
        "profiles/show.html",
        profile=profile_line,
        paragraphs=paragraphs(profile_line.about),
        board=board,
        score=board.scores[name],
        groups=groups([profile_line]),
        coverage=facets.coverage_of_profiles(db.session),
        tasks=replays.recent(db.session.connection(), name),
        failures=scoreboard.lines(db.session, name, outcomes=BAD_OUTCOMES, limit=30),
        others=[profile_name for profile_name in profiles() if profile_name != name],
        against=against if against in profiles() else None,
        change=scoreboard.change(db.session, against, name) if against in profiles() else None,
        outcomes=OUTCOMES,
        short=SHORT,
    )


@blueprint.get("/profiles/<path:name>/responses")
def responses(name: str) -> Response:
    """The responses behind a cell of the scoreboard."""
    profile_line = line(name)
    cell = asked_for()
    lines = scoreboard.lines(db.session, name, limit=LINES_A_PAGE + 1, **cell)
    more = len(lines) > LINES_A_PAGE
    return page(
        "profiles/responses.html",
        "profiles/_lines.html",
        profile=profile_line,
        lines=lines[:LINES_A_PAGE],
        next=lines[LINES_A_PAGE - 1].labelled.turn.id if more else None,
        asked=cell,
        query=query_of(cell),
        outcomes=OUTCOMES,
        short=SHORT,
    )


@blueprint.get("/api/profiles")
@operation("Profiles", "List profiles with their scores", json("board", "Scores are over the final labels"))
def list_api() -> Response:
    board = scoreboard.board(db.session)
    covered = facets.coverage_of_profiles(db.session)
    lines = []
    for about in map(line, profiles()):
        of_profile = covered[about.name]
        run, not_run = None if of_profile.absent else of_profile.run, of_profile.absent or of_profile.reason
        score = None if of_profile.absent else score_dict(board.scores[about.name])
        lines.append(filled("Profile", about, run=run, of=of_profile.of, not_run=not_run, score=score))
    return jsonify(filled("board", board, profiles=lines, by=by_dict(board)))


def asked_for() -> dict[str, Any]:
    """Which cell the URL asks for: `outcome` (several with commas), one of model, cause, strategy, `after` a turn."""
    outcomes = request.args.get("outcome", "").split(",")
    dimension = next(((name, request.args[name]) for name in scoreboard.DIMENSIONS if name in request.args), None)
    after = request.args.get("after", -1, type=int)
    return {"outcomes": tuple(name for name in OUTCOMES if name in outcomes), "dimension": dimension, "after": after}


def query_of(cell: dict[str, Any]) -> dict[str, str]:
    """`asked_for` as the URL says it, but for the page."""
    query = {"outcome": ",".join(cell["outcomes"])} if cell["outcomes"] else {}
    return query | ({cell["dimension"][0]: cell["dimension"][1]} if cell["dimension"] else {})


def score_dict(score: scoreboard.Score) -> dict[str, Any]:
    """A score as the API gives it; shares with their 95 % interval after Wilson."""
    outcomes: dict[str, Any] = {name: score.outcomes[name] for name in OUTCOMES}
    return filled("score", score, **outcomes, by_policy=dict(score.policies))


def by_dict(board: scoreboard.Scoreboard) -> dict[str, Any]:
    return {
        dimension: {
            value: {name: dict(score.outcomes) for name, score in scores.items()} for value, scores in values.items()
        }
        for dimension, values in board.by.items()
    }


runs_blueprint = Blueprint("runs", __name__)


def queued(name: str, filters: Filters) -> Task:
    """A run that the worker begins now, or once those before it are finished."""
    db.session.rollback()
    return task_pages.find(replays.queue(db.engine, name, filters))


@runs_blueprint.post("/profiles/<path:name>/runs")
def make(name: str) -> AnyResponse:
    queued(name, of_parameters(request.form.to_dict()))
    back = request.form.get("back")
    return redirect(own_path(back) if back else url_for("profiles.show", name=name, _anchor="runs"), 303)


@runs_blueprint.post("/api/profiles/<path:name>/runs")
@operation(
    "Profiles",
    "Run a profile over stored responses",
    {202: json("run", "The run: ask for it until its state is done")},
    query=FILTERS,
    refuses={409: "The profile cannot run here"},
    example="?failed=1",
)
def make_api(name: str) -> tuple[Response, int]:
    return jsonify(run=run_dict(queued(name, of_parameters(request.args.to_dict())))), 202


@runs_blueprint.get("/api/runs/<int:number>")
@operation("Profiles", "Read a run", json("run", "The run"))
def show_api(number: int) -> Response:
    return jsonify(run=run_dict(task_pages.find(number, tasks.REPLAY)))


@runs_blueprint.delete("/api/runs/<int:number>")
@operation("Profiles", "Cancel a run", {202: json("run", "The run; what is already stored is kept")})
def cancel_api(number: int) -> tuple[Response, int]:
    return jsonify(run=run_dict(task_pages.cancelled(number, tasks.REPLAY))), 202


def run_dict(run: Task) -> dict[str, Any]:
    """A replay as the API shows it; `progress` goes from 0 to 1, `counts` is null before the first piece."""
    finished, total = task_pages.task_share(run)
    progress = 1.0 if run.state == "done" else min(1.0, finished / max(1, total))
    return filled("Run", run, filters=run.about.get("filters", {}), progress=progress)
