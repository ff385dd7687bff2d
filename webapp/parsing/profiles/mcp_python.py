"""MCP's Python SDK: texts among arguments that are JSON themselves."""

from __future__ import annotations

import json
from typing import Any

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import ARGUMENTS, described
from webapp.parsing.profiles._steps import loads


@described("mcp-python", ARGUMENTS)
def plugin(tracer: Tracer) -> None:
    """MCP Python SDK: texts among a tool's arguments that are JSON of a list, an object, or null are decoded once
    more.

    Reads the arguments that a server built with MCPServer (FastMCP) is called with. 1. json.loads. 2. Each argument
    that is a text goes to json.loads; where that gives a list, an object or null, it takes the text's place.
    Numbers, true and false in a text stay text. In fact only parameters that are not annotated as str: the tool's
    signature is not known here, and all are taken for such.

    Source: mcp 2.3.0, mcp/server/mcpserver/utilities/func_metadata.py, pre_parse_json.
    """
    loads(make=(_pre_parsed, "texts among the arguments that are JSON are decoded"))(tracer)


def _pre_parsed(value: Any) -> Any:
    decoded = {key: _decoded(item) for key, item in value.items()} if isinstance(value, dict) else value
    return value if decoded == value else decoded


def _decoded(item: Any) -> Any:
    try:
        value = json.loads(item) if isinstance(item, str) else item
    except (ValueError, RecursionError):
        return item
    return item if isinstance(value, str | int | float) else value
