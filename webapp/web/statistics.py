"""Statistics: what won, what was needed and what went wrong, under the list's filters."""

from __future__ import annotations

from flask import Blueprint, Response

from webapp.extensions import db
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions import views as view_store
from webapp.store.sessions.filters import Filters
from webapp.store.statistics import report as store
from webapp.store.statistics.zombies import zombies
from webapp.web import charts
from webapp.web.render import page
from webapp.web.sessions import list_filters

blueprint = Blueprint("statistics", __name__)


@blueprint.get("/statistics")
def index() -> Response:
    filters = list_filters.of_request()
    around = session_store.page(db.session, filters, limit=1)
    return page(
        "statistics/index.html",
        "statistics/_all.html",
        told=store.statistics(db.session, filters),
        zombies=zombies(db.session, session_store.view(db.session, filters)),
        charts=charts,
        responses_of=responses_of,
        **list_filters.panel_context(around, filters),
        views=view_store.views(db.session),
    )


def responses_of(filters: Filters) -> str:
    """The list of the responses behind a bar."""
    return list_filters.with_filters("/responses", filters.active())
