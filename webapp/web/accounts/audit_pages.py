"""The audit log, for admins."""

from __future__ import annotations

from flask import Blueprint, render_template, request

from webapp.extensions import db
from webapp.store.accounts import audit

blueprint = Blueprint("audit", __name__, url_prefix="/audit")
PAGE = 100
"""lines"""


@blueprint.get("")
def index() -> str:
    """`before` is the id of the last line of the page before; `by` names one author."""
    by, before = request.args.get("by", ""), request.args.get("before", type=int)
    with db.engine.connect() as connection:
        lines = audit.page(connection, before=before, author=by or None, limit=PAGE + 1)
    older = lines[PAGE - 1].id if len(lines) > PAGE else None
    return render_template("accounts/audit.html", lines=lines[:PAGE], older=older, by=by)
