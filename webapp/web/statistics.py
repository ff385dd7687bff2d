"""Statistics: what won, what was needed and what went wrong, under the list's filters."""

from __future__ import annotations

from flask import Blueprint, Response, request

from webapp.extensions import db
from webapp.store import sessions as session_store
from webapp.store import statistics as store
from webapp.store import views as view_store
from webapp.store.filtering import Filters, of_parameters
from webapp.web import charts, listing
from webapp.web.render import page

blueprint = Blueprint("statistics", __name__)


@blueprint.get("/statistics")
def index() -> Response:
    filters = of_parameters(request.args.to_dict())
    told = store.statistics(db.session, filters)
    around = session_store.page(db.session, filters, limit=1)
    return page(
        "statistics/index.html",
        "statistics/_all.html",
        told=told,
        charts=charts,
        sessions_of=sessions_of,
        **listing.panel_context(around.counts, listing.groups(around, filters), filters),
        views=view_store.views(db.session),
    )


def sessions_of(filters: Filters) -> str:
    """The list of the sessions behind a bar."""
    return listing.with_filters("/", filters.active())
