"""`fencepost minimal`: the shortest cut of a response that still fails the same way."""

from __future__ import annotations

import sys

import click

from webapp.commands import _terminal
from webapp.commands._arguments import PROFILE, open_bytes, read_text, runnable
from webapp.parsing import minimal


@click.command("minimal")
@click.option(
    "--profile", "name", type=PROFILE, default="direct", show_default=True, metavar="P", help="The parser that fails."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.argument("file", default="-", metavar="[FILE|-]")
def command(name: str, as_json: bool, file: str) -> None:
    """Shorten the response in FILE, or on standard input, as far as possible while it still fails the same way.

    The same way means: the profile fails, and the failure group is the same. Prints the shortened text; standard error
    says how many texts were tried, and whether the search stopped early.

    Exits with 0 when there is a reproduction, with 1 when the profile does not fail, with 2 when used wrongly.
    """
    runnable(name)
    with open_bytes(file) as source:
        raw = read_text(source, file)
    result = minimal.of_profile(raw, name)
    if as_json:
        document = {"profile": name, "same": result.same, "exhausted": result.exhausted, "tests": result.tests}
        _terminal.print_json(document | {"length": len(raw), "text": result.text if result.same else None})
    elif result.same:
        click.echo(result.text)
    click.echo(minimal.sentence(result, len(raw), name), err=True)
    sys.exit(0 if result.same else 1)
