"""`fencepost compare`: what two profiles make of stored responses."""

from __future__ import annotations

from collections.abc import Iterator

import click
from sqlalchemy import orm

from webapp.commands import _store, _terminal
from webapp.commands._arguments import PROFILE, runnable
from webapp.findings.rule import number
from webapp.store.compare import comparing
from webapp.store.compare.comparing import Comparison, LabelMatrix, compare
from webapp.store.jobs import replays
from webapp.store.rates import SignTest
from webapp.store.sessions.filters import Filters
from webapp.web.api.shapes import filled


@click.command("compare")
@click.argument("a", type=PROFILE, metavar="A")
@click.argument("b", type=PROFILE, metavar="B")
@click.option("--no-run", is_flag=True, help="Compare what is stored, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document.")
@_store.filter_options
def command(a: str, b: str, no_run: bool, as_json: bool, filters: Filters | None) -> None:
    """Count how the profiles A and B read the same responses: same value, different values, only one, neither.

    No labels are needed; if there are final labels, it also shows which profile is right. Both are first run over the
    responses that they were not run over. Two checkouts of your own parser are two profiles: old=pkg.mod:parse@../old.

    Exits with 0 when compared, with 1 when no response was parsed by both, with 2 when used wrongly.
    """
    comparison = _compared(a, b, filters, run=not no_run)
    _terminal.say(as_json, filled("Comparison", comparison), *_lines(comparison))
    raise SystemExit(0 if comparison.compared else 1)


def _compared(a: str, b: str, filters: Filters | None, *, run: bool) -> Comparison:
    """The comparison, once what can run here was `run` over what it was not run over."""
    settings = _store.settings()
    with _store.engine(settings) as engine:
        for name in (a, b) if run else ():
            runnable(name)
            with _terminal.bar(name) as on_progress:
                replays.replay(engine, settings, name, filters=filters, on_progress=on_progress)
        with orm.Session(engine) as db:
            return compare(db, a, b, filters or Filters())


def _lines(comparison: Comparison) -> Iterator[str]:
    cut = ", the first of those under the filters" if comparison.cut else ""
    yield f"A {comparison.a}, B {comparison.b}: {comparison.of:,} responses{cut}"
    yield f"both were run in {number(comparison.sessions, 'session')}"
    for cell, words in comparing.CELLS.items():
        count = comparison.counts[cell]
        if count or cell in ("both_same", "both_different", "only_a", "only_b", "neither"):
            yield f"  {count:>10,}  {words}"
    for coverage in (comparison.a_runs, comparison.b_runs):
        if coverage.reason:
            run = "" if coverage.absent else f": fencepost replay --profile {coverage.profile}"
            yield f"{coverage.profile}: {coverage.reason}{run}"
    yield from _test("read by A only", comparison.signs)
    yield from _of_labels(comparison.labels)


def _of_labels(labels: LabelMatrix) -> Iterator[str]:
    if labels.total:
        yield f"by {labels.total:,} final labels, from A to B:"
        yield f"  {labels.of('right', 'right'):>10,}  right → right"
        yield f"  {labels.fixed:>10,}  wrong → right"
        yield f"  {labels.broken:>10,}  right → wrong"
        yield f"  {labels.silently_wrong:>10,}  → silently wrong"
        yield from _test("fixed by B", labels.signs)
    if labels.waiting:
        yield f"{labels.waiting:,} labels are not compared yet; run it again to go on"


def _test(subject: str, test: SignTest) -> Iterator[str]:
    """The test in words, if there is one: it describes, and decides nothing."""
    if test.p is not None:
        low, high, differing = test.share.low, test.share.high, test.first + test.second
        interval = "" if low is None or high is None else f" ({low:.0%} to {high:.0%})"
        differ = f"{test.first:,} of {differing:,} that differ{interval}, in {number(test.sessions, 'session')}"
        yield f"{subject}: {differ}; sign-flip test over sessions p = {test.p:.2g}"
