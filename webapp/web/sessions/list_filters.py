"""What the list's pages show around the rows: filters as chips, facets as links, sorts."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from flask import request

from webapp.extensions import db
from webapp.parsing import words
from webapp.plugins import defect
from webapp.store.sessions import session_list
from webapp.store.sessions.facets import LIMIT, Counts, Facet
from webapp.store.sessions.filters import DESCRIBED, HOME, MORE_THAN, SORTS, SWITCHES, Filters, of_parameters
from webapp.store.sessions.session_list import Page
from webapp.store.sessions.where import FACETS, OF_PARSE
from webapp.visible import visible
from webapp.web.links import with_query

TOP = 8
"""values of a facet that stand before "more" """
OPEN = ("finding", "verdict", "error", "model")
"""the facets that stand open before anything is chosen in them"""
CODES = ("verdict", "strategy", "repair", "finding", "label", "stop")
"""filters whose values are our own names"""
PARSER_UNKNOWN = "parser unknown"


Shown = dict[str, Any]
"""what a template shows of a filter; an option's `url` leads to its value, or away from it where it is `on`"""


def of_request() -> Filters:
    """The filters of the address. Raises `BadFilter`."""
    return of_parameters(request.args.to_dict())


def address(active: dict[str, Any], **changes: Any) -> str:
    """This page's address with some of its filters set to something else, None takes one away."""
    return with_filters(request.path, {**active, **changes})


def with_filters(path: str, values: dict[str, Any]) -> str:
    """A page's address with these filters, None is left out."""
    return with_query(f"{request.script_root}{path}", values)


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


def chips(filters: Filters) -> list[Shown]:
    """The filters that narrow what is in view, in the order in which `Filters` has them, with the page without each."""
    active = filters.active()
    return [
        {"name": name, **_said(name, str(value), filters.under), "url": address(active, **{name: None})}
        for name, value in active.items()
        if name not in ("sort", "under")
    ]


def _said(name: str, value: str, under: str) -> Shown:
    if name in SWITCHES:
        return {"words": DESCRIBED[name].title, "value": ""}
    if name in MORE_THAN:
        return {"words": "more than", "value": words.counted(int(value), MORE_THAN[name].things.removesuffix("s"))}
    where = f" (under {words.called(under)})" if name in OF_PARSE and under != HOME else ""
    return {"words": DESCRIBED[name].title.lower(), "value": named(name, value) + where}


def groups(result_page: Page, filters: Filters) -> list[Shown]:
    """The facets of what is in view, those that are looked at first in front."""
    counts = result_page.counts
    facets = dict(result_page.facets)
    if counts is not None and "label" not in facets:
        labels = [("labelled", counts.labelled), ("unlabelled", counts.unlabelled)]
        facets["label"] = Facet("label", labels, 0, filters.label)
    return [_group(facets[name], filters) for name in FACETS if name in facets]


def _group(facet: Facet, filters: Filters) -> Shown:
    """What a facet offers, how many values more there are, and the address that shows them."""
    active, whole = filters.active(), request.args.get("more") == facet.name
    expanded = {"more": facet.name} if whole else {}
    values = facet.values
    if not whole and len(values) > TOP + 1:  # the chosen one is listed wherever it stands
        values = [pair for at, pair in enumerate(values) if at < TOP or pair[0] == facet.chosen]
    options = [
        {
            "label": named(facet.name, value),
            "count": count,
            "on": value == facet.chosen,
            "url": address(active | expanded, **{facet.name: None if value == facet.chosen else value}),
        }
        for value, count in values
    ]
    return {
        "name": facet.name,
        "title": DESCRIBED[facet.name].title,
        "options": options,
        "more": len(facet.values) - len(values) + (0 if whole else facet.more),
        "unlisted": facet.more if whole else 0,
        "more_url": address(active, more=facet.name),
        "whole": whole,
        "open": whole or facet.chosen is not None or facet.name in OPEN,
    }


def sorts(filters: Filters) -> dict[str, str]:
    """Where a click on each column's head leads: to that sort, or from it back to failing first."""
    active = filters.active()
    return {name: address(active, sort=None if filters.sort == name else name) for name in SORTS[1:]}


def over(filters: Filters) -> dict[str, Any]:
    """The filters that say over which responses a profile is to be run."""
    return {name: value for name, value in filters.active().items() if name not in ("under", "sort", *OF_PARSE)}


def production(counts: Counts | None, filters: Filters) -> list[Shown]:
    """All, failed and rescued sessions: each with how many it would show."""
    active = filters.active()
    chosen = "rescued" if filters.rescued else "failed" if filters.failed else "all"
    options = []
    labels = {"all": "all"} | {switch: DESCRIBED[switch].title for switch in SWITCHES}
    for name, label in labels.items():
        changes = {"failed": None, "rescued": None} | ({name: 1} if name not in ("all", chosen) else {})
        url = address(active, **changes)
        options.append({"label": label, "count": getattr(counts, name, None), "on": name == chosen, "url": url})
    return options


def rows_context(result_page: Page, filters: Filters) -> dict[str, Any]:
    """What the rows need, and the way to the next ones."""
    return {
        "page": result_page,
        "filters": filters,
        "next_url": address(filters.active(), after=result_page.next) if result_page.next else None,
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
        "first_run": not (result_page.sessions or result_page.hidden or active),
        "production": production(result_page.counts, filters),
        "groups": groups(result_page, filters),
        "cut": [DESCRIBED[name].title for name in result_page.cut],
        "seconds": LIMIT,
        "sorts": sorts(filters),
        "views": session_list.views(db.session),
    }
