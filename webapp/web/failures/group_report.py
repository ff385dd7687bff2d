"""Rates of failure groups in words, and as a chart in units of 1000 by 100."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from webapp.store.failures.group import Group
from webapp.store.rates import Rate
from webapp.store.sessions.filters import Filters
from webapp.store.statistics import timesteps
from webapp.store.statistics.incident import Incident
from webapp.web.sessions import list_filters


def rate_words(rate: Rate) -> str:
    """`2.7 % of 50,000 (1,352; 95 %: 2.6 to 2.9 %)`; a count alone says that the number of all is not known."""
    if rate.share is None or rate.low is None or rate.high is None:
        return f"{rate.count:,} of an unknown number"
    return f"{percent(rate.share)} of {rate.of:,} ({rate.count:,}; 95 %: {percent(rate.low)} to {percent(rate.high)})"


def percent(share: float) -> str:
    """`2.7 %`, `0.004 %`; two digits that say something."""
    number = 100 * share
    return f"{number:.3g} %" if number >= 10 else f"{number:.2g} %"


WIDTH = 1000.0


def chart(incident: Incident, filters: Filters, kinds: Iterable[Group] = ()) -> dict[str, Any] | None:
    """None where there is nothing to draw; `kinds` are failure groups, of which the new ones are flags.

    `most` is the rate at the top; `lines` are SVG points by series; a flag is where something began.
    """
    if not incident.steps:
        return None
    rates = [count / of for series in incident.series for of, count in series.points if of]
    most = max([0.1, *rates])
    lines = [_line(series.points, most) for series in incident.series]
    steps, flags = _steps(incident, filters), _flags(incident, kinds)
    return {"incident": incident, "most": most, "steps": steps, "lines": lines, "flags": flags}


def _line(points: Sequence[tuple[int, int]], most: float) -> str:
    """Through the middle of each step with responses; where there is one alone, along half of it."""
    width = WIDTH / len(points)
    places = [(at + 0.5, count / of) for at, (of, count) in enumerate(points) if of]
    if len(places) == 1:
        ((middle, rate),) = places
        places = [(middle - 0.25, rate), (middle + 0.25, rate)]
    return " ".join(f"{at * width:.1f},{98 - 96 * rate / most:.1f}" for at, rate in places)


def _steps(incident: Incident, filters: Filters) -> list[dict[str, Any]]:
    """Of each step of time its rectangle, its begin in words, and the address of this page within it."""
    width, form = WIDTH / len(incident.steps), "%-d %b %Y %H:%M" if incident.step == "hour" else "%-d %b %Y"
    after, before = filters.span()
    steps = []
    for at, (start, end) in enumerate(incident.steps):
        since, until = (timesteps.text(when) for when in (max(start, after or start), min(end, before or end)))
        by = {} if incident.by == "model" else {"by": incident.by}
        url = list_filters.address(filters.active() | by, since=since, until=until)
        place = {"x": round(at * width, 2), "width": round(width, 2), "words": start.strftime(form)}
        steps.append(place | {"since": since, "until": until, "url": url})
    return steps


def _flags(incident: Incident, kinds: Iterable[Group]) -> list[dict[str, Any]]:
    """What changed, and what was not there before: models, services, versions, and kinds of failure, which all are new
    in the first step."""
    (start, first_share), end = incident.steps[0], incident.steps[-1][1]
    new = (kind for kind in kinds if kind.is_new and kind.known_since >= first_share)
    news = [*incident.news, *((kind.known_since, f"new: {kind.title}") for kind in new)]
    if (change := incident.change) is not None and not change.is_new:
        news.append((change.since, "change"))
    whole = max(end - start, timedelta(microseconds=1))
    return [
        {"x": round(WIDTH * min(1.0, max(0.0, (when - start) / whole)), 1), "words": f"{when:%-d %b %H:%M} {words}"}
        for when, words in sorted(news)
    ]


def spark_bars(series: Sequence[int]) -> str:
    """The bars of a sparkline as one path, which is quicker than an element each: 3 of every 4 wide, 2 to 19 high."""
    most = max(series, default=0)
    heights = [(4 * at, round(18 * count / most, 1) + 1) for at, count in enumerate(series) if count]
    return "".join(f"M{x} 20v-{height:g}h3v{height:g}z" for x, height in heights)
