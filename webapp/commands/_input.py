"""What commands read: a file or standard input, as bytes and as text."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO, cast

import click


def open_bytes(name: str) -> AbstractContextManager[BinaryIO]:
    """The file called `name`, or standard input for `-`; a usage error (exit 2) where it cannot be opened."""
    if name == "-":
        return nullcontext(sys.stdin.buffer)
    printable = repr(click.format_filename(name))
    try:
        return cast(BinaryIO, click.open_file(name, "rb"))
    except FileNotFoundError:
        raise click.UsageError(f"there is no file {printable}") from None
    except (OSError, ValueError) as error:
        raise click.UsageError(f"cannot read {printable}: {getattr(error, 'strerror', None) or error}") from None


def to_text(data: bytes, where: str) -> str:
    """`data` as UTF-8; bytes that are none become U+FFFD, and standard error says so, naming `where`."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        text = data.decode(errors="replace")
        click.echo(f"{where} is not UTF-8 at byte {error.start}: such bytes are shown as U+FFFD", err=True)
        return text


def size_of(stream: BinaryIO) -> int | None:
    """Bytes of a regular file that is not empty, None of a pipe or a buffer."""
    try:
        return os.fstat(stream.fileno()).st_size or None
    except OSError:
        return None
