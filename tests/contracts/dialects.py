"""Made requests with tools and their answers, in the words of six providers, and what jsonschema says of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.contracts import made
from webapp.contracts.contract import Contract
from webapp.contracts.held import Holder
from webapp.contracts.shapes import path_text
from webapp.dumps.reading import read
from webapp.dumps.records import Turn

Tools = list[tuple[str, Any]]
"""names with their schemas"""


def chat(tools: Tools, name: str, arguments: Any) -> dict[str, Any]:
    listed = [{"type": "function", "function": {"name": tool, "parameters": schema}} for tool, schema in tools]
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    request = {"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": listed}
    return {"request": request, "response": {"object": "chat.completion", "choices": [choice]}}


def responses(tools: Tools, name: str, arguments: Any) -> dict[str, Any]:
    listed = [{"type": "function", "name": tool, "parameters": schema} for tool, schema in tools]
    call = {"type": "function_call", "call_id": "c", "name": name, "arguments": json.dumps(arguments)}
    response = {"object": "response", "status": "completed", "model": "m", "output": [call]}
    return {"request": {"model": "m", "input": "go", "tools": listed}, "response": response}


def anthropic(tools: Tools, name: str, arguments: Any) -> dict[str, Any]:
    listed = [{"name": tool, "input_schema": schema} for tool, schema in tools]
    call = {"type": "tool_use", "id": "c", "name": name, "input": arguments}
    response = {"type": "message", "role": "assistant", "model": "m", "content": [call], "stop_reason": "tool_use"}
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}], "tools": listed}
    return {"request": request, "response": response}


def gemini(tools: Tools, name: str, arguments: Any) -> dict[str, Any]:
    listed = [{"name": tool, "parametersJsonSchema": schema} for tool, schema in tools]
    content = {"role": "model", "parts": [{"functionCall": {"name": name, "args": arguments}}]}
    request = {"contents": [{"role": "user", "parts": [{"text": "go"}]}], "tools": [{"functionDeclarations": listed}]}
    return {"request": request, "response": {"candidates": [{"content": content, "finishReason": "STOP"}]}}


def bedrock(tools: Tools, name: str, arguments: Any) -> dict[str, Any]:
    listed = [{"toolSpec": {"name": tool, "inputSchema": {"json": schema}}} for tool, schema in tools]
    content = [{"toolUse": {"toolUseId": "c", "name": name, "input": arguments}}]
    request = {
        "modelId": "m",
        "messages": [{"role": "user", "content": [{"text": "go"}]}],
        "toolConfig": {"tools": listed},
    }
    response = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "tool_use"}
    return {"request": request, "response": response}


def ollama(tools: Tools, name: str, arguments: Any) -> dict[str, Any]:
    listed = [{"type": "function", "function": {"name": tool, "parameters": schema}} for tool, schema in tools]
    message = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}
    request = {"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": listed}
    return {"request": request, "response": {"model": "m", "message": message, "done": True, "done_reason": "stop"}}


DIALECTS: tuple[Callable[[Tools, str, Any], dict[str, Any]], ...] = (
    *(chat, responses, anthropic, gemini, bedrock, ollama),
)


def contracts(path: Path, lines: list[dict[str, Any]]) -> list[Contract]:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    holder = Holder()
    turns = [record for record in read(path, path.name) if isinstance(record, Turn)]
    held = [one for turn in turns for one in holder.answer([turn]) if one is not None]
    assert len(held) == len(lines)
    return held


def validator(schema: Any) -> Any:
    """Imported here: it takes two seconds, which collecting other tests does not need."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema)


def errors(schema: Any, value: Any) -> set[tuple[str, str]]:
    return {(path_text(error.absolute_path), error.validator) for error in validator(schema).iter_errors(value)}


def request(chance: random.Random, number: int) -> tuple[Tools, str, Any]:
    """Two tools, the second with a schema of its own, and a call: of that, or in one of twenty of one that is none."""
    schema = made.schema(chance)
    schema = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    value = {"v": made.value(chance), "n": number} if chance.random() < 0.9 else {"n": number}
    return [("other", {"type": "object"}), ("t", schema)], chance.choice(["tt", *["t"] * 19]), value


def mended(tools: Tools, chance: random.Random) -> tuple[Tools, str, Any]:
    """The twin of a broken call: of the same tool, with arguments that fit; with a schema that takes any object where
    by chance none are found, as where nothing fits it."""
    broken = validator(tools[1][1])
    tries = ({"v": made.value(chance)} for _ in range(300))
    value = next((value for value in tries if broken.is_valid(value)), None)
    return (tools, "t", value) if value is not None else ([tools[0], ("t", {"type": "object"})], "t", {"v": 1})
