"""Help: the documents of `docs/`, rendered by this server, in a checkout and from a wheel alike, without a network."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import sqlalchemy as sa
from flask import Blueprint, current_app, redirect, render_template, request, send_from_directory, url_for
from flask import session as cookie
from markupsafe import Markup
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from webapp import installation
from webapp.extensions import db
from webapp.store.ingest.start import ingest_examples
from webapp.store.models import Session
from webapp.store.sessions import debugger_queries, where
from webapp.store.sessions import turns as turn_store
from webapp.store.write.parser import OURS
from webapp.web.links import own_path, turn_url

if TYPE_CHECKING:
    from markdown_it.token import Token

blueprint = Blueprint("help", __name__, url_prefix="/help")

DOCS = installation.resource("docs")
FIRST = ("words", "list", "debugger", "home", "labels", "failures", "ingest", "formats", "search", "filters")
"""documents that stand in front, in this order"""


@blueprint.get("")
def index() -> str:
    return render_template("help/index.html", documents=documents())


@blueprint.get("/<name>")
def show(name: str) -> str:
    """One document of `docs/`, by its file's name without the ending."""
    if name not in documents():
        raise NotFound(f"no help page is called {name[:100]!r}")
    return render_template(
        "help/show.html", title=documents()[name], body=rendered(name, request.script_root), documents=documents()
    )


@blueprint.get("/<name>.png")
def picture(name: str) -> Response:
    return send_from_directory(DOCS, f"{name}.png")


@cache
def documents() -> dict[str, str]:
    """Every document's name and title, those that people look for first in front."""
    titles = {path.stem: _title(path) for path in sorted(DOCS.glob("*.md"))}
    return {name: titles[name] for name in (*(first for first in FIRST if first in titles), *titles)}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip().replace("`", "")


@cache
def rendered(name: str, root: str) -> Markup:
    """A document as HTML: raw HTML in it stays text, headings have ids, links lead to pages of this server.

    `root` is the prefix of this server's paths, which stands in the links.
    """
    from markdown_it import MarkdownIt  # here, since a start's first page needs none

    engine = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = engine.parse((DOCS / f"{name}.md").read_text("utf-8"))
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            token.attrSet("id", anchor(following.content))
        if token.type == "fence" or token.type == "code_block":
            token.attrSet("tabindex", "0")
    _lead_links(tokens)
    return Markup(engine.renderer.render(tokens, engine.options, {}))  # noqa: S704 -- escaped by the renderer


def anchor(heading: str) -> str:
    """What a heading is called in a link: `your-parser`."""
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def _lead_links(tokens: list[Token]) -> None:
    for token in tokens:
        if token.type == "link_open":
            token.attrSet("href", _address(str(token.attrGet("href"))))
        if token.type == "image":
            token.attrSet("src", url_for("help.picture", name=Path(str(token.attrGet("src"))).stem))
        _lead_links(token.children or [])


def _address(target: str) -> str:
    """A link of a document as one of this server: `labels.md#causes` is `/help/labels#causes`; others stay."""
    parts = urlsplit(target)
    name = Path(parts.path).stem
    if parts.scheme or parts.netloc or not parts.path.endswith(".md") or name not in documents():
        return target
    return url_for("help.show", name=name) + (f"#{parts.fragment}" if parts.fragment else "")


guide_blueprint = Blueprint("guide", __name__, url_prefix="/guide")

EXAMPLE = "ui_run_764686752e2f"
"""the example session that is taken where it is stored"""
_MOST_TRIED = 20


@guide_blueprint.get("")
def begin() -> Response | str:
    """Go to the first step; where nothing is stored that it could show, offer the examples."""
    urls = guide_steps()
    return redirect(urls[0]) if urls else render_template("guide/none.html")


@guide_blueprint.post("/examples")
def load_examples() -> Response:
    ingest_examples(db.engine, current_app.config["SETTINGS"])
    return redirect(url_for("guide.begin") if request.form.get("guide") else url_for("sessions.index"), 303)


@guide_blueprint.post("/end")
def end() -> Response:
    """Skipped or finished: this browser is not offered the guide again."""
    cookie["guided"] = True
    cookie.permanent = True
    return redirect(own_path(request.form.get("back", "")), 303)


@guide_blueprint.app_template_global()
def is_guided() -> bool:
    """Whether this browser finished or skipped the guide."""
    return bool(cookie.get("guided"))


@guide_blueprint.app_template_global()
def stored_examples() -> tuple[list[str], bool]:
    """The keys of the examples that are stored, and whether nothing else is."""
    query = sa.select(Session.key, where.are_alone)
    rows = db.session.execute(query.where(where.is_example, Session.deleted_at.is_(None))).all()
    return [key for key, _ in rows], any(alone for _, alone in rows)


@guide_blueprint.app_template_global()
def guide_steps() -> tuple[str, ...]:
    """The address of each step, about a failed response and the attempt that has an edit; none where none is stored."""
    query = sa.select(Session).where(Session.rescued_count > 0, Session.deleted_at.is_(None))
    first = sa.case((Session.external_id == EXAMPLE, 0), else_=1)
    session = db.session.scalar(query.order_by(first, Session.id).limit(1))
    if session is None or session.home_profile == "unknown":
        return ()
    for position in turn_store.failed_positions(db.session, session)[:_MOST_TRIED]:
        trace = debugger_queries.trace(turn_store.find(db.session, session, position), OURS)
        edited = next((at for at in trace.chosen if trace.attempts[at].edits), None)
        if edited is not None:
            home, of = session.home_profile, {"profile": OURS, "attempt": edited}
            return (
                turn_url(session, position, guide=1),
                turn_url(session, position, guide=2, profile=home),
                turn_url(session, position, guide=3, edit=1, **of),
                turn_url(session, position, guide=4, view="value", **of),
                turn_url(session, position, guide=5, profile=OURS),
            )
    return ()
