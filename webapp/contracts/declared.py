"""What one request declares, as a format reads it: its tools, which of them may be called, and how to answer.

It is a mapping, as it is stored: `{"tools": [{"name", "schema"}], "tool_choice": "auto" | "none" | "required" |
{"name"}, "response_format": {"type": "json_object" | "json_schema" | "text", "schema"}}`, each only where the request
says it. A tool without a schema takes any arguments; one with `"open": true` stands for tools that the log does not
list (a server's). `open` and a tool's `kind` are the reader's words; `"source": "file"` says that the tools stand in no
request, and were named with the log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_TOOLS = 2_000


@dataclass(frozen=True, slots=True)
class Declaration:
    """A request's declarations, ready to hold calls against. `source` is "request", "file" or "learned"."""

    source: str = "request"
    tools: Mapping[str, list[str | None]] | None = None
    """the schemas of each name, as JSON text, None where it has none; None where no tools are declared"""
    has_open_tools: bool = False
    choice: Any = None
    answer: str | None = None
    """"json_object" or "json_schema" """
    answer_schema: str | None = None
    reason: str | None = field(default=None)
    """why the declarations are not used"""

    @classmethod
    def of(cls, declared: Mapping[str, Any], source: str = "request") -> Declaration:
        """What a format read, whatever shape it has: what cannot be used is left out."""
        listed = declared.get("tools")
        tools = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        if len(tools) > MOST_TOOLS:
            return cls(source, reason=f"more than {MOST_TOOLS:,} tools are declared")
        answer = declared.get("response_format")
        answer = answer if isinstance(answer, dict) else {}
        kind = answer.get("type") if answer.get("type") in ("json_object", "json_schema") else None
        return cls(
            source,
            _by_name(tools) if listed is not None else None,
            any(tool.get("open") is True for tool in tools),
            declared.get("tool_choice"),
            kind,
            _text(answer.get("schema")) if kind == "json_schema" else None,
        )


def _by_name(tools: list[dict[str, Any]]) -> dict[str, list[str | None]]:
    """The schemas under each name; one that is declared twice has both."""
    named: dict[str, list[str | None]] = {}
    for tool in tools:
        name, schema = tool.get("name"), _text(tool.get("schema"))
        if isinstance(name, str) and name and schema not in named.setdefault(name, []):
            named[name].append(schema)
    return named


def _text(schema: Any) -> str | None:
    if schema is None:
        return None
    try:
        return json.dumps(schema)
    except (RecursionError, ValueError, TypeError):
        return "too deep"  # no JSON, which is then the reason
