"""`fencepost replay`: run a profile over stored responses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from webapp.commands import _store, _terminal
from webapp.commands._arguments import PROFILE, refuse
from webapp.parsing.words import MARKS, counted
from webapp.store.jobs import replays
from webapp.store.sessions.filters import Filters


@click.command("replay")
@click.argument("profile", type=PROFILE, required=False, metavar="PROFILE")
@click.option("--profile", "name", type=PROFILE, metavar="P", help="The same as PROFILE.")
@click.option("--again", is_flag=True, help="Parse also what this version of the profile has parsed before.")
@click.option("--session", "ident", metavar="ID", help="Only this session.")
@click.option("--json", "as_json", is_flag=True, help="Print the run and its counts as JSON.")
@_store.filter_options
def command(
    profile: str | None,
    name: str | None,
    ident: str | None,
    again: bool,
    as_json: bool,
    filters: Filters | None,
) -> None:
    """Parse stored responses with another profile, keep the traces, and count the verdicts.

    Without a filter it parses all responses. It counts responses that this version of the profile parsed before without
    parsing them again (unless --again), so after Ctrl-C or kill -9 the same command continues. On a terminal, a bar
    shows the progress.

    Exits with 0 when done, with 1 when there is no such session, when it was cancelled, or when the profile cannot
    run here (the reason is named), with 2 when used wrongly.
    """
    refuse((profile is None) == (name is None), "name one profile: fencepost replay PROFILE")
    refuse(ident is not None and filters is not None, "--session names one session, so filters do not apply")
    chosen, settings = profile or name or "", _store.settings()
    with _store.engine(settings) as engine, _terminal.bar(chosen) as on_progress:
        options: dict[str, Any] = {"session": ident, "filters": filters, "again": again}
        run = replays.replay(engine, settings, chosen, on_progress=on_progress, **options)
    _terminal.say(as_json, run, *_words(run))
    sys.exit(0 if run.state == "done" else 1)


def _words(run: replays.Replay) -> Iterator[str]:
    state = "" if run.state == "done" else f", {run.state}"
    responses = counted(run.counts["responses"], "response")
    yield f"{run.profile} {run.version}: {responses}, {run.new:,} of them parsed now{state}"
    yield from (f"  {mark} {verdict:<10} {run.counts[verdict]:>8,}" for verdict, mark in MARKS.items())
    yield f"  {run.counts['rescued']:,} of the failed responses can be read by {run.profile}"
