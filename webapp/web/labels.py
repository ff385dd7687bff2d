"""Labels: the queue, one response at a time, made for a hundred in a sitting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask import session as cookie
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.parsing import Trace
from webapp.store import bench as bench_store
from webapp.store import labels as store
from webapp.store import sessions as session_store
from webapp.store import turns as turn_store
from webapp.store import views as view_store
from webapp.store.labelling import causes, queue, taking, values
from webapp.store.models import LabelQueue, Session, Turn
from webapp.web import asked, compared, debugger, label_causes, label_form, label_lists, label_turn, made, people
from webapp.web.people import author as author
from webapp.web.render import page, wants_partial

blueprint = Blueprint("labels", __name__)
for part in (people, label_lists, label_causes):
    blueprint.register_blueprint(part.blueprint)
blueprint.register_blueprint(label_turn.blueprint)


@dataclass(frozen=True, slots=True)
class Here:
    """The queue of a request, and the response that is looked at: None where nothing is left to label."""

    spec: queue.Spec
    queue: LabelQueue
    detail: turn_store.TurnDetail | None
    session: Session | None

    @property
    def turn(self) -> Turn | None:
        return None if self.detail is None else self.detail.turn

    def url(self, **query: Any) -> str:
        """This queue's URL, at this response unless `at` says where."""
        at = {} if self.session is None or self.turn is None else {"at": place(self.session, self.turn)}
        given = {**self.spec.query(), **at, **query}
        return url_for("labels.index", **{name: value for name, value in given.items() if value is not None})


def place(session: Any, turn: Any) -> str:
    """What stands for a response in a URL: the session's key and the position."""
    return f"{session.key}.{turn.position}"


@blueprint.get("/labels")
def index() -> Response | AnyResponse:
    if not people.is_named() and not wants_partial():
        return redirect(url_for("labels.name.ask", next=request.full_path))
    return shown(here())


@blueprint.post("/labels")
def save() -> Response | AnyResponse:
    """Save the label and go on; where it was changed meanwhile, show both."""
    at = here()
    if at.turn is None or at.session is None:
        raise NotFound("the form names no response")
    fields = label_form.of_form(request.form)
    try:
        said = label_form.said(fields, request.form.get("seconds", ""))
        others = alike(at) if request.form.get("like") else []
        group = taking.served(db.session, at.turn, said, [one.turn for one in others])
        like = f"{at.session.external_id[:100]} turn {at.turn.position}"
        store.put_all(db.session, [(at.turn, said), *group], author=author(), seen=fields.seen, like=like)
    except store.BadLabel as error:
        return shown(at, fields, message=str(error), status=422)
    except store.Conflict as conflict:
        return shown(at, replace(fields, seen=store.stamp(conflict.stored)), conflict=conflict, status=409)
    left = taking.following(db.session, at.queue, author(), at.turn.id)
    cookie["served"] = len(group)
    return redirect(at.url(at=None if left is None else placed(left)), 303)


@blueprint.post("/labels/undo")
def undo() -> AnyResponse:
    """Undo this person's last save, in all responses that it served, and go back to the first of them."""
    at = here()
    turns = store.undo(db.session, author())
    where = at.url() if not turns else at.url(at=placed(turns[0]), undone=len(turns))
    return redirect(where, 303)


@blueprint.post("/labels/check")
def check() -> str:
    """What the text typed so far is, and how each profile's value differs from it."""
    return render_template("labels/_checked.html", **checked(here(), label_form.of_form(request.form)))


@blueprint.get("/labels/value")
def value() -> Response:
    """A value to begin with, as text: what a profile reads (`profile=`), or a range of the raw text (`r=`)."""
    at = here()
    if at.detail is None or at.session is None:
        raise NotFound("no such response")
    span = asked.of(request.args).marked(at.detail.turn.raw or "")
    if span is not None:
        return plain(span.of(at.detail.turn.raw or "").strip())
    trace = turn_store.trace(at.detail, request.args.get("profile") or at.session.home_profile)
    return plain(values.written(trace.values))


@blueprint.get("/labels/progress")
def progress() -> str:
    at = here()
    queue.extend(db.session, at.queue, at.spec)
    return render_template("labels/_progress.html", here=at, progress=taking.progress(db.session, at.queue, author()))


def plain(text: str) -> Response:
    return Response(text.encode("utf-8", "surrogatepass"), mimetype="text/plain")


def here() -> Here:
    """What the request's parameters (`queue`, `at` …) lead to; raises `BadFilter`, `NoSuchSession`, `NoSuchTurn`."""
    given = request.values
    spec = queue.spec_of(given, given.getlist("ids"))
    made_queue = queue.opened(db.session, spec)
    queue.extend(db.session, made_queue, spec)
    key, dot, position = given.get("at", "").rpartition(".")
    if dot and position.isdecimal():
        session = session_store.find(db.session, key)
        return Here(spec, made_queue, turn_store.find(db.session, session, int(position)), session)
    turn = taking.following(db.session, made_queue, author())
    if turn is None:
        return Here(spec, made_queue, None, None)
    found = db.session.get_one(Session, turn.session_id)
    return Here(spec, made_queue, turn_store.find(db.session, found, turn.position), found)


def placed(turn: Turn) -> str:
    return place(db.session.get_one(Session, turn.session_id), turn)


def alike(at: Here) -> list[taking.Alike]:
    return [] if at.turn is None else taking.alike(db.session, at.queue, at.turn, author())


def shown(
    at: Here,
    fields: label_form.Fields | None = None,
    *,
    message: str | None = None,
    conflict: store.Conflict | None = None,
    status: int = 200,
) -> Response:
    context: dict[str, Any] = {"here": at, "kinds": queue.KINDS, "views": view_store.views(db.session)}
    context["progress"] = taking.progress(db.session, at.queue, author())
    context["undone"] = request.args.get("undone", type=int)
    context["served"] = cookie.pop("served", 0)
    if at.detail is not None and at.session is not None:
        context |= opened(at, fields) | {"message": message, "conflict": conflict}
    return page("labels/queue.html", "labels/_queue.html", status, **context)


def opened(at: Here, fields: label_form.Fields | None) -> dict[str, Any]:
    """What the page of one response shows."""
    detail, session = at.detail, at.session
    if detail is None or session is None or detail.turn.raw is None:
        raise NotFound("this turn has no text to label")
    turn = detail.turn
    mine = store.of_author(db.session, turn, author())
    panel = label_turn.panel(session, turn)
    if fields is None and panel["carried"] and request.args.get("carry"):
        fields = label_form.of_label(panel["carried"].label, store.stamp(mine))
    fields = fields or label_form.of_label(mine, store.stamp(mine))
    before = taking.before(db.session, at.queue, turn.id)
    after = taking.following(db.session, at.queue, author(), turn.id) or taking.after(db.session, at.queue, turn.id)
    return {
        **checked(at, fields),
        **panel,
        "session": session,
        "turn": turn,
        "detail": detail,
        "bench": bench(at, detail, session),
        "texts": {"raw": url_for("turns.download_raw", ident=session.key, position=turn.position)},
        "mine": mine,
        "fields": fields,
        "tree": causes.tree(db.session),
        "judgements": store.JUDGEMENTS,
        "alike": alike(at),
        "back": None if before is None else at.url(at=placed(before)),
        "skip": None if after is None or after.id == turn.id else at.url(at=placed(after)),
    }


def checked(at: Here, fields: label_form.Fields) -> dict[str, Any]:
    """What the expected text is, and each profile's value beside it."""
    if at.detail is None or at.session is None:
        raise NotFound("no such response")
    found = label_form.check(fields)
    traces = read(at.detail, at.session.home_profile)
    groups = made.groups(traces, at.session.home_profile, found.values)
    return {"here": at, "check": found, "groups": groups, "shortest": made.shortest(traces), "fields": fields}


def read(detail: turn_store.TurnDetail, home: str) -> Mapping[str, Trace | str]:
    """Every profile's trace; of a long text only the home profile's and ours."""
    few = len(detail.turn.raw or "") > compared.EVERY_LENGTH
    names = list(dict.fromkeys((home, "fencepost"))) if few else compared.order(home)
    return compared.read(names, bench_store.reader(db.session, detail, names))


def bench(at: Here, detail: turn_store.TurnDetail, session: Session) -> debugger.Bench:
    """The debugger's state in the queue: steps lead back here."""
    home, wanted = session.home_profile, asked.of(request.args)
    traces = dict(read(detail, home))
    name = wanted.profile if wanted.profile in traces else home
    return debugger.bench(
        detail.turn.raw or "", traces, compared.order(home), home, replace(wanted, profile=name), partial(at.url)
    )
