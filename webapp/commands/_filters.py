"""The list's filters as options of commands, named and valued as in the page's address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from webapp.store.sessions.columns import MORE_THAN
from webapp.store.sessions.filters import BadFilter, Filters, of_parameters

_Command = TypeVar("_Command", bound=Callable[..., Any])
HELP = {
    "failed": "Sessions with a failed response.",
    "rescued": "Sessions with a failed response that Fencepost can read.",
    "verdict": "clean, extracted, repaired, failed or none, of at least one response.",
    "under": "The profile of --verdict, --strategy and --repair.",
    "strategy": "The strategy that won.",
    "repair": "A repair that was needed.",
    "error": "The kind of error.",
    "model": "A model that wrote a response.",
    "host": "Who served a model: a provider, an address or a fingerprint.",
    "agent": "An agent that took part.",
    "phase": "A phase of the session.",
    "tool": "A tool that was called.",
    "home": "Your parser (the home profile).",
    "finding": "A finding, by its rule.",
    "label": "labelled, unlabelled, or a judgement.",
    "service": "The program's service name.",
    "format": "The source format.",
    "contract": "The state of a response under its contract, or broken.",
    "stop": "Why a model stopped: complete, length, filtered …",
    "dump": "A log, by number or sha256.",
    "since": "From this date or time on, ISO 8601.",
    "until": "Up to this date or time.",
    **{name: f"More than this many {number.things}." for name, number in MORE_THAN.items()},
    "q": "A search.",
}


def options(command: _Command) -> _Command:
    """Add an option for each filter; the command gets them together, to be given to `chosen`."""
    for name, text in reversed(HELP.items()):
        flag = name in ("failed", "rescued")
        extra: dict[str, Any] = {"is_flag": True} if flag else {"metavar": "TEXT"}
        if name == "contract":  # alone, it means any broken one
            extra |= {"is_flag": False, "flag_value": "broken"}
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
