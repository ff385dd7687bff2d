"""`fencepost compare`: what two profiles make of stored responses."""

from __future__ import annotations

from typing import Any

import click

from webapp.commands import _filters, _store
from webapp.commands._profiles import PROFILE
from webapp.store.compare import cells
from webapp.store.compare.comparing import Comparison, LabelMatrix, compare
from webapp.store.compare.sign_test import SignTest
from webapp.store.sessions.filters import Filters
from webapp.visible import visible


@click.command("compare", short_help="Compare two profiles over stored responses.")
@click.argument("a", type=PROFILE, metavar="A")
@click.argument("b", type=PROFILE, metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document.")
@_filters.options
def command(a: str, b: str, as_json: bool, **filters: Any) -> None:
    """Count how the profiles A and B read the same responses: same value, different values, only one, neither.

    No labels are needed; if there are final labels, it also shows which profile is right. Only stored parses are
    compared: responses that a profile was not run over are counted as not run, with the command that runs it.

    Exits with 0 when compared, with 1 when no response was parsed by both, with 2 when used wrongly.
    """
    with _store.session() as db:
        comparison = compare(db, a, b, _filters.chosen(filters) or Filters())
    if as_json:
        _store.print_json(comparison.as_dict())
    else:
        _print(comparison)
    raise SystemExit(0 if comparison.compared else 1)


def _print(comparison: Comparison) -> None:
    cut = ", the first of those under the filters" if comparison.cut else ""
    click.echo(visible(f"A {comparison.a}, B {comparison.b}: {comparison.of:,} responses{cut}"))
    for cell, words in cells.CELLS.items():
        count = comparison.counts[cell]
        if count or cell in ("both_same", "both_different", "only_a", "only_b", "neither"):
            click.echo(f"  {count:>10,}  {words}")
    for runs in (comparison.a_runs, comparison.b_runs):
        if runs.reason:
            run = "" if runs.absent else f": fencepost replay --profile {runs.profile}"
            click.echo(visible(f"{runs.profile}: {runs.reason}{run}"))
    if comparison.sign_test.p is not None:
        click.echo(_test("read by A only", comparison.sign_test))
    _print_labels(comparison.labels)


def _print_labels(labels: LabelMatrix) -> None:
    if labels.total:
        click.echo(f"by {labels.total:,} final labels, from A to B:")
        for count, words in (
            (labels.of("right", "right"), "right → right"),
            (labels.fixed, "wrong → right"),
            (labels.broken, "right → wrong"),
            (labels.silently_wrong, "→ silently wrong"),
        ):
            click.echo(f"  {count:>10,}  {words}")
        if labels.sign_test.p is not None:
            click.echo(_test("fixed by B", labels.sign_test))
    if labels.waiting:
        click.echo(f"{labels.waiting:,} labels are not compared yet; run it again to go on")


def _test(subject: str, test: SignTest) -> str:
    """The exact test in words: it describes, and decides nothing."""
    low, high = test.share.interval or (0.0, 1.0)
    of = test.first + test.second
    return (
        f"{subject}: {test.first:,} of {of:,} that differ ({low:.0%} to {high:.0%}); exact sign test p = {test.p:.2g}"
    )
