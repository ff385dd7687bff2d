"""One request with tools and its answer, in the words of six providers: made dumps of one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

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
