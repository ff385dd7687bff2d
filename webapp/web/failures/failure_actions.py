"""What people say of a failure group: its state, whose it is, merges, each with a reason and undo."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from flask import Blueprint, flash, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.parsing import profile
from webapp.store.failures import events, group_detail, overlay
from webapp.store.failures.events import BadState
from webapp.store.failures.overlay import BadOverlay, NoSuchChange
from webapp.store.models import FailureEvent
from webapp.store.sessions.filters import Filters
from webapp.web.failures.failure_pages import group_url
from webapp.web.people import author

blueprint = Blueprint("failure_actions", __name__)


@blueprint.post("/failures/<path:group>", merge_slashes=False)
def change(group: str) -> AnyResponse:
    """`action` says what: state, assign, merge or undo. Raises `NoSuchGroup`."""
    history = group_detail.find(db.session, group, Filters()).history
    actions = {"state": _state, "assign": _assign, "merge": _merge, "undo": _undo}
    action = actions.get(request.form.get("action", ""))
    try:
        if action is None:
            raise BadState(f"action takes {', '.join(actions)}")
        _refuse_unseen(history)
        shown, said = action(group)
        db.session.commit()
        flash(said, "")
    except (BadState, BadOverlay, NoSuchChange) as refused:
        db.session.rollback()
        flash(f"Nothing was changed: {refused}.", "")
        shown = group
    return redirect(group_url(shown), 303)


def _refuse_unseen(history: Sequence[FailureEvent]) -> None:
    """Raises `BadState` where somebody changed the group since the form was shown: `seen` is its last event."""
    seen = request.form.get("seen")
    if seen is not None and history and str(history[-1].id) != seen:
        raise BadState(
            f"{history[-1].author} has changed this group in the meantime; see the history, then do it again"
        )


def _reason() -> str:
    return request.form.get("reason", "").strip()


def _state(group: str) -> tuple[str, str]:
    state, how = request.form.get("state", ""), request.form.get("how", "")
    detail = group_detail.find(db.session, group, Filters())
    fields: dict[str, object] = {}
    if state == "resolved" and how.startswith("profile:"):
        name = how.removeprefix("profile:")
        fields = {"profile": name, "version": profile(name).version}
    if state == "ignored" and how == "grows":
        fields = {"grows": _number("grows")}
    if state == "ignored" and how == "until":
        fields = {"until": _date()}
    count = detail.line.count if detail.line else 0
    events.set_state(db.session, group, state, count=count, author=author(), reason=_reason(), **fields)  # type: ignore[arg-type]
    return group, f"{state.capitalize()} by {author()}: {_reason()}"


def _number(name: str) -> float:
    try:
        return float(request.form.get(name, ""))
    except ValueError:
        raise BadState(f"{name} must be a number, such as 2") from None


def _date() -> datetime:
    try:
        return datetime.fromisoformat(request.form.get("until", "")).replace(tzinfo=UTC)
    except ValueError:
        raise BadState("until must be a date, such as 2026-12-31") from None


def _assign(group: str) -> tuple[str, str]:
    name = request.form.get("assignee", "").strip()
    events.assign(db.session, group, name or None, author=author(), reason=_reason())
    return group, f"Assigned to {name}" if name else "Assigned to nobody"


def _merge(group: str) -> tuple[str, str]:
    target = request.form.get("target", "")
    group_detail.find(db.session, target, Filters())
    overlay.merge(db.session, [group], target, author=author(), reason=_reason())
    return target, "Merged into this group; undo it under “Merges”."


def _undo(group: str) -> tuple[str, str]:
    number = request.form.get("change", "")
    if not (number.isascii() and number.isdecimal() and len(number) < 18):
        raise NoSuchChange("no merge was named")
    overlay.undo(db.session, int(number), author=author(), reason=_reason())
    return group, "Undone."
