"""How the calls of each model keep what their requests declare, by who served it, with intervals over sessions."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts import STATES
from webapp.store.models import FacetValue, SessionFacet
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.view import View
from webapp.store.statistics.clusters import Share, share

HELD = "held"
"""the name in `session_facets`: `model␟host␟state`, counted in calls"""
SEPARATOR = "\x1f"
_MOST = 50


@dataclass(frozen=True, slots=True)
class CardLine:
    """One model at one host. `kept` is the share of the calls that could be held; the two conventions are of all
    calls: those that nothing was declared of, or that were not checked, count as valid, or as failed."""

    model: str
    host: str
    sessions: int
    calls: int
    states: dict[str, int]
    kept: Share
    as_valid: Share
    as_failed: Share
    filters: Filters


def card(db: orm.Session, view: View) -> tuple[list[CardLine], int]:
    """The 50 models and hosts in view with most calls, and how many others there are."""
    query = sa.select(FacetValue.value, SessionFacet.session_id, SessionFacet.count)
    query = query.join(SessionFacet, SessionFacet.value_id == FacetValue.id).where(FacetValue.name == HELD)
    found: dict[tuple[str, str], dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for value, session_id, count in db.execute(query.where(SessionFacet.session_id.in_(view.ids()))):
        model, host, state = [*value.split(SEPARATOR), "", ""][:3]
        if state in STATES:
            found[model, host][session_id][state] += count
    lines = [_line(*names, list(sessions.values()), view.filters) for names, sessions in found.items()]
    lines.sort(key=lambda line: (-line.calls, line.model, line.host))
    return lines[:_MOST], max(0, len(lines) - _MOST)


def _line(model: str, host: str, sessions: list[Counter[str]], filters: Filters) -> CardLine:
    states = sum(sessions, Counter[str]())
    silent = [session["not_declared"] + session["not_checked"] for session in sessions]
    calls = [session.total() for session in sessions]
    kept = [session["kept"] for session in sessions]
    return CardLine(
        model,
        host,
        len(sessions),
        sum(calls),
        {state: states[state] for state in STATES},
        share((k, n - s) for k, n, s in zip(kept, calls, silent, strict=True)),
        share((k + s, n) for k, n, s in zip(kept, calls, silent, strict=True)),
        share(zip(kept, calls, strict=True)),
        replace(filters, model=model or None, host=host or None),
    )
