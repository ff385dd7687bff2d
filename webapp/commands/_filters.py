"""The list's filters as options of commands, named and valued as in the page's address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from webapp.store.sessions.filters import DESCRIBED, SWITCHES, BadFilter, Filters, of_parameters

_Command = TypeVar("_Command", bound=Callable[..., Any])


def options(command: _Command) -> _Command:
    """Add an option for each filter; the command gets them together, to be given to `chosen`."""
    for name, described in reversed(DESCRIBED.items()):
        if name == "sort":
            continue
        extra: dict[str, Any] = {"is_flag": True} if name in SWITCHES else {"metavar": "TEXT"}
        if name == "contract":  # alone, it means any broken one
            extra |= {"is_flag": False, "flag_value": "broken"}
        values = f": {', '.join(described.takes)}" if described.takes else ""
        text = f"{described.about[0].upper()}{described.about[1:]}{values}."
        command = click.option(f"--{name}", f"filter_{name}", help=text, **extra)(command)
    return command


def chosen(options_given: dict[str, Any]) -> Filters | None:
    """The filters that were given, None without any; a usage error (exit 2) where a value cannot be meant."""
    parameters = {
        name.removeprefix("filter_"): "1" if value is True else value for name, value in options_given.items() if value
    }
    if not parameters:
        return None
    try:
        return of_parameters(parameters)
    except BadFilter as bad:
        raise click.UsageError(str(bad)) from None
