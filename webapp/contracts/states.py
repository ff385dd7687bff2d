"""What holding a call or an answer against its declaration comes to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["kept", "invalid_json", "unknown_name", "schema_mismatch", "not_declared", "not_checked"]
BROKEN: tuple[State, ...] = ("invalid_json", "unknown_name", "schema_mismatch")
MISFITS: tuple[State, ...] = ("unknown_name", "schema_mismatch")
"""of them, those of what is JSON"""
STATES: dict[State, str] = {
    "kept": "kept its contract",
    "invalid_json": "is no JSON",
    "unknown_name": "calls a tool that was not declared",
    "schema_mismatch": "does not fit what was declared",
    "not_declared": "this log does not say what was declared",
    "not_checked": "could not be held against what was declared",
}
"""each state in words, of a response"""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One place that does not fit: its JSON path, the schema's keyword, and where it stands in the raw text.

    `span` is in code points of the raw text: the value, the key that is not declared, or the brace that closes the
    object which lacks a key. `schema_path` is a JSON pointer into the declared schema, empty where no schema is meant.
    """

    path: str
    keyword: str
    message: str
    span: tuple[int, int] | None = None
    schema_path: str = ""


@dataclass(frozen=True, slots=True)
class Contract:
    """The state of one response; `reason` says why it is neither kept nor broken, `more` counts what is left out."""

    state: State
    tool: str | None = None
    source: str | None = None
    reason: str | None = None
    mismatches: tuple[Mismatch, ...] = ()
    more: int = 0

    @property
    def is_broken(self) -> bool:
        return self.state in BROKEN

    def as_dict(self) -> dict[str, Any]:
        """As the API gives it."""
        return asdict(self) | {"mismatches": [asdict(one) | {"span": _listed(one.span)} for one in self.mismatches]}


def _listed(span: tuple[int, int] | None) -> list[int] | None:
    return None if span is None else list(span)
