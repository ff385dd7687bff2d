"""Regressions that somebody allowed, by id and with a reason, as JSON lines."""

from __future__ import annotations

from pathlib import Path

from webapp.gate import samples
from webapp.gate.samples import BadLines


def read(path: Path) -> dict[str, str]:
    """Reasons by id, from lines `{"id", "reason"}`; raises `BadLines`, also for an id that occurs there twice."""
    allowed: dict[str, str] = {}
    with path.open("rb") as file:
        for number, row in samples.rows(file, str(path)):
            ident, reason = row.get("id"), row.get("reason")
            if not isinstance(ident, str) or not isinstance(reason, str) or not ident or not reason.strip():
                raise BadLines(f'{path}, line {number}: "id" and "reason" must be texts, and neither empty')
            if ident in allowed:
                raise BadLines(f"{path}, line {number}: the id {ident!r} occurs there twice")
            allowed[ident] = reason.strip()
    return allowed
