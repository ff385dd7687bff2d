"""How stored turns become a session dump: the entries exactly as they came, streamed as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from webapp import jsontext

LARGEST_LAST = 32 * 1024
"""A `fencepost` member of more bytes stands before the entries, so that a reader of head and tail finds it."""


def whole_entry(source: Any, raw: str | None, raw_at: Sequence[str | int] | None) -> Any:
    """The entry as it came: `source` with `raw` back at `raw_at` (keys and indexes). `source` itself is not changed.

    Without `raw_at`, `source` is the whole entry already. Raises `KeyError`, `IndexError` or `TypeError` where
    `raw_at` leads nowhere, which is a fault of the format that gave it.
    """
    if raw_at is None:
        return source
    if not raw_at:
        return raw
    step, *rest = raw_at
    copied = source.copy()
    copied[step] = whole_entry(source[step], raw, rest)
    return copied


def document(
    session_id: str, dumped_at: datetime | str, entry_count: int, entries: Iterable[Any], fencepost: dict[str, Any]
) -> Iterator[bytes]:
    """The dump in pieces, ASCII JSON with one entry a line: NaN (marked), lone surrogates and any integer survive.

    `fencepost` is what `webapp.dumps` needs to read it the same way again: version, format, home, service …
    """
    moment = dumped_at if isinstance(dumped_at, str) else dumped_at.isoformat()
    about = jsontext.portable(fencepost | {"floats": "marked"})
    member = f'"fencepost":{about}'
    early = len(member) > LARGEST_LAST
    yield _ascii(
        f'{{"session_id":{jsontext.dumps(session_id)},"dumped_at":{jsontext.dumps(moment)},'
        f'"entry_count":{entry_count},{member + "," if early else ""}"entries":['
    )
    for index, entry in enumerate(entries):
        yield _ascii(f"{',' if index else ''}\n{jsontext.portable(entry)}")
    yield _ascii("\n]}\n" if early else f"\n],{member}}}\n")


def _ascii(text: str) -> bytes:
    return text.encode("ascii")
