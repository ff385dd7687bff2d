"""Notes every write in the audit log: before it is done, so that a killed server leaves none out, and how it ended.

Writes are the unsafe methods of routes that need another right than reading, and signing in. Where no login is asked
for nobody is known by name, and nothing is recorded; nor is what a stranger was refused, which `/metrics` counts.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from flask import Blueprint, Flask, Response, current_app, g, render_template, request

from webapp.extensions import db
from webapp.store.accounts import audit
from webapp.store.accounts.accounts import READ
from webapp.store.models import AuditEntry
from webapp.web import identity, rights
from webapp.web.rights import SAFE_METHODS

SIGN_INS = ("login.submit", "oidc.finish")
OBJECT_FIELDS = ("account", "name", "role", "scope", "action", "at", "ids", "queue", "people", "judgement", "settle")
"""fields of forms that say what a write is about; no text of a session, and no password, is among them"""
_LONGEST = 200


def init_app(app: Flask) -> None:
    app.before_request(begin)
    app.after_request(finish)


def about(**detail: Any) -> None:
    """Say more of what this request's write is about, where neither address nor form does."""
    g.audit_about = g.get("audit_about", {}) | detail


def begin() -> None:
    """Note a write that somebody known is about to do."""
    right = rights.RIGHT_OF.get(request.endpoint or "")
    is_safe = request.method in SAFE_METHODS
    if is_safe or right in (None, READ, rights.OPEN) or not current_app.config["SETTINGS"].asks_login:
        return
    with db.engine.begin() as connection:
        g.audit_entry = audit.begin(connection, _act(identity.current()))


def finish(response: Response) -> Response:
    """Note how a write ended; where that cannot be written the line says that it is unknown."""
    number = g.pop("audit_entry", None)
    try:
        if number is not None:
            with db.engine.begin() as connection:
                audit.finish(connection, number, response.status_code, _detail())
        elif "signed_in" in g:
            with db.engine.begin() as connection:
                audit.begin(connection, _act(None), response.status_code)
    except sa.exc.SQLAlchemyError:
        current_app.logger.exception("audit entry %s has no end", number)
    return response


def _act(who: identity.Identity | None) -> AuditEntry:
    return AuditEntry(
        author=g.get("signed_in", "") if who is None else who.name or "",
        via="" if who is None else who.via,
        peer=identity.peer() or "",
        act=request.endpoint or "",
        object=f"{request.method} {_address()}",
        detail=_detail() if who is None else None,
    )


def _address() -> str:
    """Path, below a prefix, and query; of a provider's answer the path alone, since its code signs in."""
    if request.endpoint in SIGN_INS:
        return request.path
    return request.full_path.removeprefix(request.script_root).removesuffix("?")


def _detail() -> dict[str, Any] | None:
    """What the form says of the object, where it was read as a form, and what `about` was told."""
    sent = request.form if request.mimetype == "application/x-www-form-urlencoded" else {}
    objects = {name: sent[name][:_LONGEST] for name in OBJECT_FIELDS if sent.get(name)}
    return (objects | g.get("audit_about", {})) or None


blueprint = Blueprint("audit", __name__, url_prefix="/audit")
LINES_A_PAGE = 100


@blueprint.get("")
def index() -> str:
    """`before` is the id of the last line of the page before; `by` names one author."""
    by, before = request.args.get("by", ""), request.args.get("before", type=int)
    with db.engine.connect() as connection:
        lines = audit.page(connection, before=before, author=by or None, limit=LINES_A_PAGE + 1)
    older = lines[LINES_A_PAGE - 1].id if len(lines) > LINES_A_PAGE else None
    return render_template("accounts/audit.html", lines=lines[:LINES_A_PAGE], older=older, by=by)
