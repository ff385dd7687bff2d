"""`fencepost compare`: what two profiles make of stored responses."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from sqlalchemy import orm

from webapp.capture import specs
from webapp.commands import _store, _terminal
from webapp.commands._arguments import PROFILE, refuse, runnable
from webapp.findings.rule import number
from webapp.store.compare import comparing
from webapp.store.compare.comparing import Comparison, LabelMatrix, compare
from webapp.store.jobs import replays
from webapp.store.rates import SignTest
from webapp.store.sessions.filters import Filters
from webapp.web.api.shapes import filled


@click.command("compare")
@click.argument("a", type=PROFILE, metavar="A")
@click.argument("b", type=PROFILE, metavar="B", required=False)
@click.option("--before", metavar="GITREV", help="Compare your own parser as it was at this revision with what it is.")
@click.option("--no-run", is_flag=True, help="Compare what is stored, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document.")
@_store.filter_options
def command(a: str, b: str | None, before: str | None, no_run: bool, as_json: bool, filters: Filters | None) -> None:
    """Count how the profiles A and B read the same responses: same value, different values, only one, neither.

    No labels are needed; if there are final labels, it also shows which profile is right. Both are first run over the
    responses that they were not run over. With --before, A is the parser as it was, in a temporary git worktree,
    and nothing of it is kept.

    Exits with 0 when compared, with 1 when no response was parsed by both, with 2 when used wrongly.
    """
    refuse((before is None) == (b is None), "name two profiles, or --before GITREV and one parser of your own")
    if before is None:
        comparison = _compared(a, b or "", filters, run=not no_run)
    else:
        with _parser_at(before, a) as earlier:
            comparison = _compared(earlier, a, filters, run=not no_run, is_earlier=True)
    _terminal.say(as_json, filled("Comparison", comparison), *_lines(comparison))
    raise SystemExit(0 if comparison.compared else 1)


def _compared(a: str, b: str, filters: Filters | None, *, run: bool, is_earlier: bool = False) -> Comparison:
    """The comparison, once what can run here was `run` over what it was not run over.

    Where A `is_earlier`, nobody can run it again, and its traces go with it.
    """
    settings = _store.settings()
    with _store.engine(settings) as engine:
        for name in (a, b) if run else ():
            runnable(name)
            with _terminal.bar(name) as on_progress:
                replays.replay(engine, settings, name, filters=filters, on_progress=on_progress)
        with orm.Session(engine) as db:
            comparison = compare(db, a, b, filters or Filters())
        if is_earlier:
            replays.forget(engine, a)
    return comparison


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


@contextmanager
def _parser_at(revision: str, name: str) -> Iterator[str]:
    """The name of the profile that is the parser `name` at a git revision; its worktree is removed behind it.

    Exits with 2 where `name` is no parser of one's own, or git knows no such revision.
    """
    spec = specs.configured().get(name)
    if spec is None:
        raise click.UsageError(f"--before is for a parser of your own, and {name!r} is none")
    top = Path(_git(spec.folder, "rev-parse", "--show-toplevel"))
    commit = _git(top, "rev-parse", "--verify", "--short=12", f"{revision}^{{commit}}")
    with tempfile.TemporaryDirectory(prefix="fencepost-before-") as folder:
        tree = Path(folder, "tree").resolve()
        _git(top, "worktree", "add", "--detach", str(tree), commit)
        try:
            words = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "parser"
            yield specs.add_at(spec, f"{words}-{commit}", tree / spec.folder.resolve().relative_to(top.resolve()))
        finally:
            _git(top, "worktree", "remove", "--force", str(tree))


def _git(folder: Path, *words: str) -> str:
    """What git prints, less the line's end. Exits with 2 in git's own words where it refuses."""
    try:
        run = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)  # noqa: S603, S607
    except OSError as error:
        raise click.UsageError(f"git could not be started: {error}") from None
    refuse(run.returncode, f"--before: {run.stderr.strip() or 'git refused'}")
    return run.stdout.strip()
