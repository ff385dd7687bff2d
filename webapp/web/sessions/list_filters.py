"""What the list's pages show around the rows: filters as chips, facets as links, sorts."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from flask import g, request

from webapp.extensions import db
from webapp.parsing import words
from webapp.plugins import defect
from webapp.store.sessions import session_list
from webapp.store.sessions.facets import LIMIT, Counts, Facet
from webapp.store.sessions.filters import DESCRIBED, HOME, MORE_THAN, SORTS, SWITCHES, BadFilter, Filters, of_parameters
from webapp.store.sessions.session_list import Page
from webapp.visible import visible

TOP = 8
"""values of a facet that stand before "more" """
FACETS = (
    *("finding", "verdict", "error", "model", "repair", "strategy", "host", "agent", "phase", "tool", "home", "label"),
    *("service", "format", "contract", "stop", "dump"),
)
"""in the order of the panel"""
OPEN = ("finding", "verdict", "error", "model")
"""the facets that stand open before anything is chosen in them"""
CODES = ("verdict", "strategy", "repair", "finding", "label", "stop")
"""filters whose values are our own names"""
PARSER_UNKNOWN = "parser unknown"
OF_PARSE = ("verdict", "strategy", "repair")


@dataclass(frozen=True, slots=True)
class Chip:
    """One active filter in words, and the address of the page without it."""

    name: str
    words: str
    value: str
    url: str


@dataclass(frozen=True, slots=True)
class Option:
    """One value to filter by; `url` leads there, or away from it where it is `on`."""

    label: str
    count: int | None
    on: bool
    url: str


@dataclass(frozen=True, slots=True)
class FacetGroup:
    """A facet: what it offers, how many values more there are, and the address that shows them."""

    name: str
    title: str
    options: list[Option]
    more: int
    unlisted: int
    more_url: str
    whole: bool
    open: bool


def of_request() -> Filters:
    """The filters of the address. Raises `BadFilter`."""
    return of_parameters(request.args.to_dict())


def of_list() -> Filters:
    """As `of_request`; a saved view opens without what of it cannot be read any more, which its page says."""
    g.unread_filters = []
    try:
        return of_request()
    except BadFilter:
        query = request.query_string.decode()
        if not any(view.content["query"] == query for view in session_list.views(db.session)):
            raise
    parameters = request.args.to_dict()
    for name, text in request.args.items():
        try:
            of_parameters({name: text})
        except BadFilter as error:
            g.unread_filters.append(f"Left out: {error}.")
            del parameters[name]
    return of_parameters(parameters)


def address(active: dict[str, Any], **changes: Any) -> str:
    """This page's address with some of its filters set to something else, None takes one away."""
    return with_filters(request.path, {**active, **changes})


def with_filters(path: str, values: dict[str, Any]) -> str:
    """A page's address with these filters, None is left out. A page has hundreds of them, which hold the same pairs."""
    query = "&".join(_pair(name, value) for name, value in values.items() if value is not None)
    return f"{request.script_root}{path}?{query}" if query else f"{request.script_root}{path}"


@lru_cache(maxsize=2048, typed=True)
def _pair(name: str, value: Any) -> str:
    return urlencode({name: value}, errors="surrogatepass")


def named(name: str, value: str) -> str:
    """A filter's value as people read it: our own names without underscores, other texts made visible."""
    if name == "home" and value == "unknown":
        return PARSER_UNKNOWN
    if name in ("home", "under"):
        return visible(words.called(value))
    if name == "verdict":
        return words.VERDICT_NAMES.get(value, value)
    if name == "repair":
        return defect(value)
    return value.replace("_", " ") if name in CODES else visible(value)


def chips(filters: Filters) -> list[Chip]:
    """The filters that narrow what is in view, in the order in which `Filters` has them."""
    active = filters.active()
    return [
        Chip(name, *_said(name, str(value), filters.under), address(active, **{name: None}))
        for name, value in active.items()
        if name not in ("sort", "under")
    ]


def _said(name: str, value: str, under: str) -> tuple[str, str]:
    if name in SWITCHES:
        return DESCRIBED[name].title, ""
    if name in MORE_THAN:
        return "more than", words.counted(int(value), MORE_THAN[name].things.removesuffix("s"))
    where = f" (under {words.called(under)})" if name in OF_PARSE and under != HOME else ""
    return DESCRIBED[name].title.lower(), named(name, value) + where


def groups(result_page: Page, filters: Filters) -> list[FacetGroup]:
    """The facets of what is in view, those that are looked at first in front."""
    counts = result_page.counts
    facets = dict(result_page.facets)
    if counts is not None and "label" not in facets:
        labels = [("labelled", counts.labelled), ("unlabelled", counts.unlabelled)]
        facets["label"] = Facet("label", labels, 0, filters.label)
    return [_group(facets[name], filters) for name in FACETS if name in facets]


def _group(facet: Facet, filters: Filters) -> FacetGroup:
    active, whole = filters.active(), request.args.get("more") == facet.name
    expanded = {"more": facet.name} if whole else {}
    values = facet.values
    if not whole and len(values) > TOP + 1:  # the chosen one is listed wherever it stands
        values = [pair for at, pair in enumerate(values) if at < TOP or pair[0] == facet.chosen]
    options = [
        Option(
            named(facet.name, value),
            count,
            value == facet.chosen,
            address(active | expanded, **{facet.name: None if value == facet.chosen else value}),
        )
        for value, count in values
    ]
    return FacetGroup(
        facet.name,
        DESCRIBED[facet.name].title,
        options,
        len(facet.values) - len(values) + (0 if whole else facet.more),
        facet.more if whole else 0,
        address(active, more=facet.name),
        whole,
        whole or facet.chosen is not None or facet.name in OPEN,
    )


def sorts(filters: Filters) -> dict[str, str]:
    """Where a click on each column's head leads: to that sort, or from it back to failing first."""
    active = filters.active()
    return {name: address(active, sort=None if filters.sort == name else name) for name in SORTS[1:]}


def over(filters: Filters) -> dict[str, Any]:
    """The filters that say over which responses a profile is to be run."""
    return {name: value for name, value in filters.active().items() if name not in ("under", "sort", *OF_PARSE)}


def hidden_fields(active: dict[str, Any], without: Container[str]) -> list[tuple[str, Any]]:
    """What a form with fields of its own must send along."""
    return [(name, value) for name, value in active.items() if name not in without]


def production(counts: Counts | None, filters: Filters) -> list[Option]:
    """All, failed and rescued sessions: each with how many it would show."""
    active = filters.active()
    offered = (
        ("all", counts.all if counts else None, None),
        ("failed", counts.failed if counts else None, "failed"),
        ("Fencepost can read", counts.rescued if counts else None, "rescued"),
    )
    chosen = "rescued" if filters.rescued else "failed" if filters.failed else None
    options = []
    for label, count, name in offered:
        on = name == chosen
        changes = {"failed": None, "rescued": None} | ({name: 1} if name and not on else {})
        options.append(Option(label, count, on, address(active, **changes)))
    return options


def rows_context(result_page: Page, filters: Filters) -> dict[str, Any]:
    """What the rows need, and the way to the next ones."""
    active = filters.active()
    return {
        "page": result_page,
        "filters": filters,
        "next_url": address(active, after=result_page.next) if result_page.next else None,
    }


def panel_context(result_page: Page, filters: Filters) -> dict[str, Any]:
    """What the panel of filters and the line above the rows need."""
    active = filters.active()
    return {
        "filters": filters,
        "active": active,
        "over": over(filters),
        "here": urlencode(active, errors="surrogatepass"),
        "chips": chips(filters),
        "unread_filters": g.get("unread_filters", ()),
        "first_run": not (result_page.sessions or result_page.hidden or active),
        "production": production(result_page.counts, filters),
        "groups": groups(result_page, filters),
        "cut": [DESCRIBED[name].title for name in result_page.cut if name in FACETS],
        "seconds": LIMIT,
        "sorts": sorts(filters),
        "hidden_fields": hidden_fields,
        "views": session_list.views(db.session),
    }
