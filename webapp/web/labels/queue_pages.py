"""Labels: the queue, one response at a time, made for a hundred in a sitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask import session as cookie
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as AnyResponse

from webapp.exports.base import expected_values
from webapp.extensions import db
from webapp.parsing import Trace, failure_group
from webapp.store.failures import neighbours
from webapp.store.labels import alike, causes, label_content, queue
from webapp.store.labels import labels as store
from webapp.store.labels.queue import Queue
from webapp.store.labels.queue_spec import KINDS, SAMPLE, Spec, spec_of
from webapp.store.models import Session, Turn
from webapp.store.sessions import debugger_queries, session_list
from webapp.store.sessions import turns as turn_store
from webapp.web import debugger, identity
from webapp.web.answers import page, text_answer, wants_partial
from webapp.web.identity import author
from webapp.web.labels import label_form, list_pages, turn_label

blueprint = Blueprint("labels", __name__)
for part in (turn_label.name_blueprint, list_pages.blueprint, list_pages.causes_blueprint, turn_label.blueprint):
    blueprint.register_blueprint(part)


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The queue of a request, and the response that is looked at: None where nothing is left to label."""

    spec: Spec
    queue: Queue
    detail: turn_store.TurnDetail | None = None

    def url(self, **query: Any) -> str:
        """This queue's URL, at this response unless `at` says where."""
        at = {} if self.detail is None else {"at": place(self.detail.turn)}
        parameters = {**self.spec.query(), **at, **query}
        return url_for("labels.index", **{name: value for name, value in parameters.items() if value is not None})

    def group(self) -> dict[str, Any]:
        """What the page says of the failure group that is queued: its words, and how many responses it has in all."""
        return {"title": failure_group.title(self.spec.group), "count": self.queue.of}

    def at(self, turn_id: int | None) -> str | None:
        """This queue's URL at another response; None where there is none."""
        turn = None if turn_id is None else db.session.get(Turn, turn_id)
        return None if turn is None else self.url(at=place(turn))


def place(turn: Turn) -> str:
    """What stands for a response in a URL: the session's key and the position."""
    return f"{db.session.get_one(Session, turn.session_id).key}.{turn.position}"


@blueprint.get("/labels")
def index() -> Response | AnyResponse:
    if not identity.is_named() and not wants_partial():
        return redirect(url_for("labels.name.ask", next=request.full_path))
    spec = spec_of_request()
    if not queue.is_drawn(db.session, spec):
        return page("labels/undrawn.html", "labels/_undrawn.html", 200, spec=spec)
    return shown(here())


@blueprint.post("/labels/draw")
def draw() -> AnyResponse:
    """Draw the sample that the form asks for, and go to it: a link alone makes none."""
    if (spec := spec_of_request()).kind == SAMPLE:
        queue.draw(db.session, spec)
    return redirect(here().url(), 303)


@blueprint.post("/labels")
def save() -> Response | AnyResponse:
    """Save the label and go on; where it was changed meanwhile, show both."""
    at, detail = here_at_response()
    fields = label_form.of_form(request.form)
    try:
        fields = decided(detail, fields)
        label = label_form.said(fields, request.form.get("seconds", type=float))
        refuse_contradiction(detail, label)
        is_for_all = request.form.get("like")
        like_it = queue.similar(db.session, at.spec, at.queue, detail.turn, author()) if is_for_all else []
        group = alike.served(db.session, detail.turn, label, [similar.Turn for similar in like_it])
        like = f"{detail.session.external_id[:100]} turn {detail.turn.position}"
        store.put_all(db.session, [(detail.turn, label), *group], author=author(), seen=fields.seen, like=like)
    except label_content.BadLabel as error:
        return shown(at, fields, message=str(error), status=422)
    except store.Conflict as conflict:
        return shown(at, replace(fields, seen=store.stamp(conflict.stored)), conflict=conflict, status=409)
    cookie["served"] = len(group)
    following = queue.following(db.session, at.queue, author(), detail.turn.id)
    return redirect(at.at(following) or at.url(at=None), 303)


def decided(detail: turn_store.TurnDetail, fields: label_form.Fields) -> label_form.Fields:
    """The form as it was sent, with what one key says: a card's value. The judgement follows from it."""
    pick = request.form.get("pick")
    if not pick:
        return fields
    if pick in ("none", "unknown"):
        fields = replace(fields, expects=pick, expected="", source="")
        return replace(fields, judgement="unsure" if pick == "unknown" else follows(detail, []))
    trace = label_form.every_trace(detail).get(pick)
    if trace is None or not trace.chosen:
        raise label_content.BadLabel(f"{pick[:80]} reads no value here")
    text = label_content.written(trace.values)
    judgement = follows(detail, trace.values)
    return replace(fields, judgement=judgement, expects="value", expected=text, source=pick)


def follows(detail: turn_store.TurnDetail, meant: Sequence[Any]) -> str:
    """The judgement that follows from what was meant: a recorded failure returned no value."""
    trace = debugger_queries.trace(detail, detail.session.first_profile)
    returned = trace.values if trace.chosen and detail.turn.recorded_failure is None else None
    return label_form.judgement(meant, returned)


def refuse_contradiction(detail: turn_store.TurnDetail, label: label_content.LabelContent) -> None:
    """Raises `BadLabel` where the judgement is not what follows from the expected value and the returned one."""
    meant = expected_values(label)
    if meant is None or label.judgement == "unsure" or detail.turn.recorded_failure is not None:
        return
    must_be, parser = follows(detail, meant), detail.session.first_profile
    if label.judgement != must_be:
        returned = {"right": "what it expects", "missed": "no value"}.get(must_be, "another value")
        raise label_content.BadLabel(f"{parser} returned {returned}: with this expected value it is {must_be}")


@blueprint.post("/labels/undo")
def undo() -> AnyResponse:
    """Undo the last that this person did, and go back to the first response of it."""
    turns = store.undo(db.session, author())
    if not turns:
        flash("There is nothing to undo.")
    at = here()
    return redirect(at.url(at=place(turns[0]), undone=len(turns)) if turns else at.url(), 303)


@blueprint.post("/labels/check")
def check() -> str:
    """What the text typed so far is, and how each profile's value differs from it."""
    at, detail = here_at_response()
    fields = label_form.of_form(request.form)
    context = label_form.checked(detail, fields, label_form.every_trace(detail))
    return render_template("labels/_checked.html", here=at, session=detail.session, turn=detail.turn, **context)


@blueprint.get("/labels/value")
def value() -> Response:
    """A value to begin with, as text: what a profile reads (`profile=`), or a range of the raw text (`r=`)."""
    _, detail = here_at_response()
    span = debugger.from_args(request.args).marked(detail.turn.raw or "")
    if span is not None:
        return text_answer(span.of(detail.turn.raw or "").strip())
    trace = debugger_queries.trace(detail, request.args.get("profile") or detail.session.first_profile)
    return text_answer(label_content.written(trace.values))


@blueprint.get("/labels/progress")
def progress() -> str:
    """How far it is by now; a page that stays open asks for it."""
    at = here()
    return render_template("labels/_progress.html", here=at, progress=queue.progress(db.session, at.queue, author()))


def here() -> QueuePosition:
    """What the request's parameters (`queue`, `at` …) lead to; raises `BadFilter`, `NoSuchSession`, `NoSuchTurn`."""
    parameters, spec = request.values, spec_of_request()
    if not queue.is_drawn(db.session, spec):
        raise NotFound("this sample is not drawn yet: open its page and draw it")
    asked = queue.of(db.session, spec, author())
    key, dot, position = parameters.get("at", "").rpartition(".")
    if dot and position.isdecimal():
        return QueuePosition(spec, asked, turn_store.find_by_id(db.session, key, int(position)))
    first = queue.following(db.session, asked, author())
    if first is None:
        return QueuePosition(spec, asked)
    turn = db.session.get_one(Turn, first)
    session = db.session.get_one(Session, turn.session_id)
    return QueuePosition(spec, asked, turn_store.find(db.session, session, turn.position))


def spec_of_request() -> Spec:
    return spec_of(request.values, request.values.getlist("ids"))


def here_at_response() -> tuple[QueuePosition, turn_store.TurnDetail]:
    """As `here`, with the response; raises `NotFound` where nothing is left to label."""
    at = here()
    if at.detail is None:
        raise NotFound("the request names no response")
    return at, at.detail


def shown(
    at: QueuePosition,
    fields: label_form.Fields | None = None,
    *,
    message: str | None = None,
    conflict: store.Conflict | None = None,
    status: int = 200,
) -> Response:
    context: dict[str, Any] = {"here": at, "kinds": KINDS, "views": session_list.views(db.session)}
    context["progress"] = queue.progress(db.session, at.queue, author())
    context["undone"] = request.args.get("undone", type=int)
    context["served"] = cookie.pop("served", 0)
    if at.detail is not None:
        context |= opened(at, at.detail, fields) | {"message": message, "conflict": conflict}
    return page("labels/queue.html", "labels/_queue.html", status, **context)


def opened(at: QueuePosition, detail: turn_store.TurnDetail, fields: label_form.Fields | None) -> dict[str, Any]:
    session, turn = detail.session, detail.turn
    if turn.raw is None:
        raise NotFound("this turn has no text to label")
    panel = turn_label.panel(session, turn)
    mine = panel["mine"]
    if fields is None and panel["carried"] and request.args.get("carry"):
        fields = label_form.of_label(panel["carried"].Label, store.stamp(mine))
    traces = label_form.every_trace(detail)
    fields = fields or (
        label_form.of_label(mine, store.stamp(mine)) if mine is not None else label_form.start(session, turn, traces)
    )
    following = queue.following(db.session, at.queue, author(), turn.id) or at.queue.beside(turn.id, 1)
    context = label_form.checked(detail, fields, traces)
    return {
        **context,
        **panel,
        "session": session,
        "turn": turn,
        "detail": detail,
        "debugger": debugger_state(at, detail, traces),
        "before": debugger_queries.before(db.session, session, turn.position),
        "after": debugger_queries.after(db.session, session, turn.position),
        "texts": {"raw": url_for("turns.download_raw", ident=session.key, position=turn.position)},
        "tree": causes.tree(db.session),
        "judgements": label_content.JUDGEMENTS,
        "alike": queue.similar(db.session, at.spec, at.queue, turn, author()),
        "same": neighbours.of_turn(db.session, turn.id),
        "back": at.at(at.queue.beside(turn.id, -1)),
        "skip": at.at(following),
    }


def debugger_state(
    at: QueuePosition, detail: turn_store.TurnDetail, traces: Mapping[str, Trace]
) -> debugger.DebuggerState:
    """The debugger's state in the queue: steps lead back here."""
    home, query = detail.session.first_profile, debugger.from_args(request.args)
    if query.profile not in traces:
        query = replace(query, profile=home)
    return debugger.state(detail.turn.raw or "", traces, home, query, at.url)
