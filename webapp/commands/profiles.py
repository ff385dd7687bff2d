"""`fencepost profiles`: what parsers there are."""

from __future__ import annotations

from typing import Any

import click

from webapp.commands import _terminal
from webapp.parsing import helps, profiles, why_absent


@click.command("profiles")
@click.option("--json", "as_json", is_flag=True, help="Print a list of {name, version, report, help, about}.")
@click.option("--about", is_flag=True, help="Describe each profile in full.")
def command(as_json: bool, about: bool) -> None:
    """List the profiles with version, report and help. `fencepost parse --profile NAME` runs one."""
    rows = entries()
    if as_json:
        _terminal.print_json(rows)
        return
    width, versions = (max(len(entry[key]) for entry in rows) for key in ("name", "version"))
    for entry in rows:
        report = f"report {entry['report']}" if entry["report"] else ""
        click.echo(f"{entry['name']:<{width}}  {entry['version']:<{versions}}  {report:<10}  {_line(entry)}")
        if about and entry["about"]:
            _tell(entry["about"])


def _line(entry: dict[str, Any]) -> str:
    return f"not run: {entry['not_run']}" if entry["not_run"] else str(entry["help"])


def entries() -> list[dict[str, Any]]:
    """Every profile as `{"name", "version", "report", "help", "about"}`, in the order of their files."""
    lines = helps()
    return [
        {
            "name": profile.name,
            "version": profile.version,
            "report": getattr(profile, "report", None),
            "help": lines[profile.name],
            "not_run": why_absent(profile),
            "about": getattr(profile, "about", ""),
        }
        for profile in profiles().values()
    ]


def _tell(about: str) -> None:
    click.echo()
    for paragraph in about.split("\n"):
        click.echo(click.wrap_text(paragraph, 96, "    ", "    "))
    click.echo()
