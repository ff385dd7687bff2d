"""What `label export`, `dump --format` and `scan` share: the redaction options, and writing pieces as they come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from webapp.exports.base import MissingLibrary
from webapp.exports.redaction import Redactor, redactor
from webapp.exports.text_patterns import BadPattern

Command = Callable[..., Any]


def redaction_options(command: Command) -> Command:
    """Adds --redact-key, --redact (both can be given several times) and --redact-secrets to a command."""
    options = (
        click.option("--redact-key", "keys", multiple=True, metavar="KEY", help="Mask values under this key."),
        click.option("--redact", "patterns", multiple=True, metavar="REGEX", help="Mask text that matches this."),
        click.option("--redact-secrets", "secrets", is_flag=True, help="Mask secrets that detect-secrets finds."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def asked(keys: tuple[str, ...], patterns: tuple[str, ...], secrets: bool) -> Redactor | None:
    """The redactor that the options ask for; exits in words on what it does not take."""
    try:
        return redactor(keys, patterns, secrets=secrets)
    except MissingLibrary as missing:
        raise click.ClickException(str(missing)) from None
    except BadPattern as bad:
        raise click.UsageError(str(bad)) from None


def write(pieces: Iterator[bytes]) -> None:
    """Print `pieces` as bytes, each as soon as it is made; a reader that stops early ends the command quietly."""
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.buffer.flush()
