"""SGLang's detectors as we restate them against its own, run out of its wheel with stand-ins for what they import."""

from __future__ import annotations

import importlib
import json
import logging
import sys
from typing import Any

import pytest

from tests.parsing.profiles import _engine
from tests.parsing.profiles._released import in_pieces, members
from webapp.parsing import parse
from webapp.parsing.engine import profile

SEED = 20261127
VERSION = "0.5.23"
DETECTORS = {
    "sglang-qwen25": ("qwen25_detector", "Qwen25Detector"),
    "sglang-deepseek-v3": ("deepseekv3_detector", "DeepSeekV3Detector"),
    "sglang-kimi-k2": ("kimik2_detector", "KimiK2Detector"),
    "sglang-gpt-oss": ("gpt_oss_detector", "GptOssDetector"),
}
FOLDER = "sglang/srt/function_call"
PIECES = {
    "sglang-qwen25": """<tool_call>~|{"name": "f", "arguments": {"a": 1}}|~</tool_call>|prose|<tool_call>~|
        [{"name": "g", "parameters": {"b": 2}}]|~</tool_call>|<tool_call>~|{"name": ""}|7|~</tool_call>""",
    "sglang-deepseek-v3": """<｜tool▁calls▁begin｜>|<｜tool▁call▁begin｜>|function|<｜tool▁sep｜>|f|~```json~|{"a": 1}|
        ~```|<｜tool▁call▁end｜>|<｜tool▁call▁begin｜>|<｜tool▁sep｜>|g|~```json~|[]|~```|<｜tool▁call▁end｜>""",
    "sglang-kimi-k2": """<|tool_calls_section_begin|>@<|tool_call_begin|>@ functions.f:0 @<|tool_call_argument_begin|>@
        {"a": {}}@~@<|tool_call_end|>@<|tool_call_begin|>@g.h-i:12@<|tool_call_argument_begin|>@
        {oops}@<|tool_call_end|>@3""",
    "sglang-gpt-oss": """<|start|>assistant@<|start|>assistant<|channel|>commentary@<|channel|>@commentary@final@
        <|start|>assistant<|channel|>analysis@ to=functions.f @ to=g-h@<|constrain|>json@<|message|>@{"a": 1}@ {oops}@
        <|start|>assistant<|channel|>commentary to=functions.f<|constrain|>json<|message|>{"b": {}}<|call|>@<|call|>@
        []@<|end|>@<|return|>@<|weird|>@<|@|>@I think.""",
}
"""what models write for them; ~ is a line feed"""


class Declared(dict[str, int]):
    """The tools of a request that declares every name."""

    def __contains__(self, name: object) -> bool:
        return True

    def get(self, name: str, other: Any = None) -> Any:
        return 0


def made(name: str) -> Any:
    """A new one, which has read nothing yet."""
    module, class_name = DETECTORS[name]
    files = [
        f"{FOLDER}/{file}.py" for file in ("base_format_detector", "utils", *(file for file, _ in DETECTORS.values()))
    ]
    files.append("sglang/srt/parser/harmony_parser.py")
    if "sglang" not in sys.modules:
        logging.getLogger("sglang").setLevel(logging.CRITICAL)
        sys.meta_path.insert(0, _engine.Finder(members("sglang", VERSION, *files), "sglang", "xgrammar"))
    detector = getattr(importlib.import_module(f"{FOLDER.replace('/', '.')}.{module}"), class_name)()
    detector._get_tool_indices = lambda tools: Declared()
    return detector


def released(text: str, name: str) -> Any:
    """The calls with their arguments as values, a text where they are none; in a word where the request fails."""
    try:
        calls = made(name).detect_and_parse(text, []).calls
    except (AttributeError, RecursionError):
        return "refused"
    return [[call.name, _decoded(call.parameters)] for call in calls or ()] or None


def _decoded(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def ours(text: str, name: str) -> Any:
    trace = parse(text, name)
    if any("AttributeError" in (attempt.reason or "") for attempt in trace.attempts):
        return "refused"
    if name == "sglang-qwen25":
        listed = [value if isinstance(value, list) else [value] for value in trace.values]
        calls = [call for some in listed for call in some if call.get("name")]
        return [[call["name"], call.get("parameters") or call.get("arguments", {})] for call in calls] or None
    found = [attempt for attempt in trace.attempts if attempt.note and not attempt.reason]
    if name == "sglang-gpt-oss":
        return [[attempt.note[6:], attempt.value] for attempt in found if attempt.ok] or None
    if name == "sglang-deepseek-v3":
        return [[attempt.note[6:], attempt.value or {}] for attempt in found if attempt.ok] or None
    return [[attempt.note[6:], attempt.value if attempt.ok else attempt.span.of(text)] for attempt in found] or None


def responses(name: str, most: int) -> list[str]:
    pieces = PIECES[name].split("@" if "@" in PIECES[name] else "|")
    return list(in_pieces([piece.replace("\n        ", "").replace("~", "\n") for piece in pieces], most, SEED))


@pytest.mark.parametrize("name", DETECTORS)
def test_a_restatement_reads_what_the_detector_reads(name: str) -> None:
    texts = responses(name, 600)
    read = [released(text, name) for text in texts]
    assert profile(name).version == f"restated-{VERSION}"
    assert [text for text, calls in zip(texts, read, strict=True) if calls != ours(text, name)] == []
    assert sum(isinstance(calls, list) for calls in read) > 20
