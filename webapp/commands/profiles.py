"""`fencepost profiles`: what parsers there are."""

from __future__ import annotations

from typing import Any

import click

from webapp import jsontext, plugins
from webapp.parsing import profiles


@click.command("profiles", short_help="List the profiles: ours, the reports', a library's.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of {name, version, report, help, about}.")
@click.option("--about", is_flag=True, help="Say in full what each does and where it departs from its report.")
def command(as_json: bool, about: bool) -> None:
    """List the profiles with version, report and help. `fencepost parse --profile NAME` runs one."""
    found = entries()
    if as_json:
        click.echo(jsontext.dumps(found))
        return
    width, versions = (max(len(entry[key]) for entry in found) for key in ("name", "version"))
    for entry in found:
        report = f"report {entry['report']}" if entry["report"] else ""
        click.echo(f"{entry['name']:<{width}}  {entry['version']:<{versions}}  {report:<10}  {entry['help']}")
        if about and entry["about"]:
            _tell(entry["about"])


def entries() -> list[dict[str, Any]]:
    """Every profile as `{"name", "version", "report", "help", "about"}`, in the order of their files."""
    helps = plugins.help_of("webapp.parsing.profiles")
    return [
        {
            "name": one.name,
            "version": one.version,
            "report": getattr(one, "report", None),
            "help": helps[one.name],
            "about": getattr(one, "about", ""),
        }
        for one in profiles().values()
    ]


def _tell(about: str) -> None:
    click.echo()
    for paragraph in about.split("\n"):
        click.echo(click.wrap_text(paragraph, 96, "    ", "    "))
    click.echo()
