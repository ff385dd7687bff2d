"""What `label export` and `dump --format` share: the redaction options, and writing pieces as they come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from webapp.exports.base import MissingLibrary
from webapp.exports.redaction import BadPattern, Redactor, redactor

Command = Callable[..., Any]


def redaction_options(command: Command) -> Command:
    """Adds --redact-key, --redact (both can be given several times) and --redact-secrets to a command."""
    options = (
        click.option("--redact-key", "keys", multiple=True, metavar="KEY", help="Mask values under this key."),
        click.option("--redact", "patterns", multiple=True, metavar="REGEX", help="Mask what this matches."),
        click.option("--redact-secrets", "secrets", is_flag=True, help="Mask what detect-secrets' rules find."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def asked(keys: tuple[str, ...], patterns: tuple[str, ...], secrets: bool) -> Redactor | None:
    """The redactor that the options ask for; exits in words on what it does not take."""
    try:
        return redactor(keys, patterns, secrets=secrets)
    except BadPattern as bad:
        raise click.UsageError(str(bad)) from None
    except MissingLibrary as missing:
        raise click.ClickException(str(missing)) from None


def write(pieces: Iterator[bytes]) -> None:
    """Print `pieces` as bytes, each as soon as it is made; a reader that stops early ends the command quietly."""
    try:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except MissingLibrary as missing:
        raise click.ClickException(str(missing)) from None
