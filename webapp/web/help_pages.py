"""Help: the documents of `docs/`, rendered by this server, in a checkout and from a wheel alike, without a network."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flask import Blueprint, render_template, request, send_from_directory, url_for
from markupsafe import Markup
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from webapp import paths

if TYPE_CHECKING:
    from markdown_it.token import Token

blueprint = Blueprint("help", __name__, url_prefix="/help")

DOCS = paths.resource("docs")
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
