"""What commands read: a file or standard input, as bytes and as text."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

import click


def open_bytes(name: str) -> AbstractContextManager[BinaryIO]:
    """The file called `name`, or standard input for `-`; a usage error (exit 2) where it cannot be opened."""
    if name == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except FileNotFoundError:
        raise click.UsageError(f"there is no file {click.format_filename(name)!r}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise click.UsageError(f"cannot read {click.format_filename(name)!r}: {reason}") from None


def to_text(data: bytes, where: str) -> str:
    """`data` as UTF-8; bytes that are none become U+FFFD, and standard error says so, naming `where`."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        text = data.decode(errors="replace")
        click.echo(f"{where} is not UTF-8 at byte {error.start}: such bytes are shown as U+FFFD", err=True)
        return text
