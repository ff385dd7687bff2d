"""`fencepost formats`: what can be read, and how each tool writes its log."""

from __future__ import annotations

import click

from webapp.commands import _terminal
from webapp.dumps.reading import known_formats


@click.command("formats")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.argument("words", nargs=-1, metavar="[WORD]…")
def command(as_json: bool, words: tuple[str, ...]) -> None:
    """List the formats of logs that can be read, by name, with what a log looks like as each tool writes it.

    With a WORD, only those that have it in their name or their shape. Any format may be compressed (gzip, zstd, xz,
    bzip2) or lie in an archive; the name is for `fencepost ingest --format`, which is needed only where a format is not
    recognised. Exits with 1 where none has the words.
    """
    shapes = {name: kind.shapes for name, kind in known_formats().items() if _fits(f"{name} {kind.shapes}", words)}
    rows = [{"name": name, "shapes": shapes[name]} for name in sorted(shapes)]
    _terminal.say(as_json, {"formats": rows}, *(f"{row['name']}: {row['shapes']}" for row in rows))
    if not shapes:
        click.echo("no format has these words; any JSON is read by a mapping: fencepost ingest --help", err=True)
        raise SystemExit(1)


def _fits(about: str, words: tuple[str, ...]) -> bool:
    return all(word.lower() in about.lower() for word in words)
