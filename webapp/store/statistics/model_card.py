"""How the calls of each model keep what their requests declare, by who served it, with intervals over sessions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, log, sqrt

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts import STATES
from webapp.store.failures.rates import wilson
from webapp.store.models import FacetValue, SessionFacet
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.view import View

HELD = "held"
"""the name in `session_facets`: `model␟host␟state`, counted in calls"""
SEPARATOR = "\x1f"
_MOST = 50
_Z = 1.959963984540054
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t for 95 %, by degrees of freedom from 1"""
Cluster = tuple[int, int]
"""of one session, how many calls count, of how many"""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of calls, and between which the true one lies with 95 %, where two sessions or more say so."""

    count: int
    of: int
    low: float | None
    high: float | None

    @property
    def share(self) -> float | None:
        return self.count / self.of if self.of else None


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


def share(clusters: Iterable[Cluster]) -> Share:
    """A share with its interval over sessions: failures repeat within one, so that calls are no independent trials.

    The variance is the jackknife's, which leaves out a session at a time; on the scale of the logit, with Student's t,
    so that the interval stays within 0 and 1. Where it leaves none, as where every call is kept, it is Wilson's
    interval of as many trials as there are sessions.
    """
    pairs = [pair for pair in clusters if pair[1]]
    count, of, sessions = sum(k for k, _ in pairs), sum(n for _, n in pairs), len(pairs)
    if sessions < 2:
        return Share(count, of, None, None)
    rate = count / of
    variance = (sessions - 1) / sessions * sum(((count - k) / (of - n) - rate) ** 2 for k, n in pairs)
    if variance == 0 or rate in (0, 1):
        low, high = wilson(round(rate * sessions), sessions)
        return Share(count, of, min(low, rate), max(high, rate))
    half = _student(sessions - 1) * sqrt(variance) / (rate * (1 - rate))
    middle = log(rate / (1 - rate))
    return Share(count, of, _logistic(middle - half), _logistic(middle + half))


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > -700 else 0.0


def _student(freedom: int) -> float:
    """Student's t for 95 %, by Cornish and Fisher's expansion where the table ends."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    return _Z + (_Z**3 + _Z) / (4 * freedom) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)
