"""What one request declares, and what holding one of its responses against that comes to."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


@dataclass(slots=True)
class Contract:
    """The state of one response, never changed; `reason` says why it is neither kept nor broken, or what a kept one
    loses; `more` counts what is left out.
    """

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
        mismatches = [asdict(misfit) | {"span": misfit.span and list(misfit.span)} for misfit in self.mismatches]
        return asdict(self) | {"mismatches": mismatches}


@dataclass(frozen=True, slots=True)
class Declaration:
    """A request's declarations, ready to hold responses against. `source` is "request", "file" or "learned".

    They are stored as `{"tools": [{"name", "schema"}], "tool_choice": "auto" | "none" | "required" | {"name"} |
    {"names", "mode"}, "response_format": {"type": "json_object" | "json_schema", "schema"}}`, each only where the
    request says it. A tool without a schema takes any arguments; one with `"open": true` stands for tools that the log
    does not list (a server's). `"source": "file"` says that the tools stand in no request, and were named with the log.
    """

    source: str = "request"
    tools: Mapping[str, list[str | None]] | None = None
    """the schemas of each name, as JSON text, None where it has none; None where no tools are declared"""
    has_open_tools: bool = False
    allowed: tuple[str, ...] | None = None
    """the tools that may be called, None where all may"""
    must_call: bool = False
    is_json: bool = False
    """whether the answer must be JSON; `answer_schema` says which"""
    answer_schema: str | None = None

    @classmethod
    def of(cls, declared: Mapping[str, Any], source: str = "request") -> Declaration:
        """What a format read, whatever shape it has: what cannot be used is left out."""
        listed = declared.get("tools")
        tools = [tool for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []
        form, choice = declared.get("response_format"), declared.get("tool_choice")
        form, chosen = form if isinstance(form, dict) else {}, choice if isinstance(choice, dict) else {}
        names = tuple(name for name in (chosen.get("name"), *(chosen.get("names") or ())) if isinstance(name, str))
        schema = form.get("schema") if form.get("type") == "json_schema" else {"type": "object"}
        is_json = form.get("type") in ("json_object", "json_schema")
        return cls(
            source,
            _by_name(tools) if listed is not None else None,
            any(tool.get("open") is True for tool in tools),
            names or (() if choice == "none" else None),
            choice == "required" or bool(names and chosen.get("mode") != "auto"),
            is_json,
            _text(schema) if is_json else None,
        )


def _by_name(tools: list[dict[str, Any]]) -> dict[str, list[str | None]]:
    """The schemas under each name; one that is declared twice has both."""
    schemas: dict[str, list[str | None]] = {}
    for tool in tools:
        name, schema = tool.get("name"), _text(tool.get("schema"))
        if isinstance(name, str) and name and schema not in schemas.setdefault(name, []):
            schemas[name].append(schema)
    return schemas


def _text(schema: Any) -> str | None:
    try:
        return None if schema is None else json.dumps(schema)
    except (RecursionError, ValueError, TypeError):
        return "too deep"  # no JSON, which is then the reason
