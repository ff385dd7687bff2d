"""vLLM's engine of tool-call grammars out of its wheel, with stand-ins for all else that it imports."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.parsing.profiles._released import members

VERSION = "0.33.0"
FILES = [
    f"vllm/parser/{name}.py"
    for name in (
        "engine/adapters", "engine/events", "engine/incremental_lexer", "engine/parser_engine",
        "engine/parser_engine_config", "engine/registered_adapters", "engine/streaming_parser_engine",
        "engine/token_id_scanner", "deepseek_v32", "deepseek_v4", "deepseek_v41", "gemma4", "glm47_moe", "granite",
        "granite_thinking", "inkling", "kimi_k2", "mimo", "minimax_m2", "minimax_m3", "mistral", "nemotron_v3",
        "plamo3", "qwen3", "seed_oss", "step3p5",
    )
]  # fmt: skip
ROOTS = ("vllm", "xgrammar", "openai_harmony", "mistral_common", "ijson")
Calls = list[tuple[Any, str]] | None


class Anything(SimpleNamespace):
    """What stands for a class of the server's."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(**fields)

    def __init_subclass__(cls, **_: Any) -> None:
        """Whatever a class is registered with."""


class Tokens:
    """Mistral's special tokens, as their names."""

    def __getattr__(self, name: str) -> Any:
        words = {"tool_calls": "[TOOL_CALLS]", "args": "[ARGS]", "begin_think": "[THINK]", "end_think": "[/THINK]"}
        return SimpleNamespace(value=words[name])


def function_call(name: Any, arguments: str, **_: Any) -> Any:
    """As pydantic has it: a name that is no text, or a text that is no UTF-8, is refused."""
    if not isinstance(name, str):
        raise TypeError("name")
    f"{name}{arguments}".encode()
    return SimpleNamespace(name=name, arguments=arguments)


class Delta(Anything):
    """A piece of a streamed answer, or a call of one: what was not set is None."""

    def model_dump(self, **_: Any) -> Delta:
        return self

    def __getattr__(self, name: str) -> None:
        return None


def delta_function(name: str | None = None, arguments: str | None = None) -> Delta:
    """As pydantic has it."""
    if not (name is None or isinstance(name, str)):
        raise TypeError("name")
    return Delta(name=name, arguments=arguments)


def nothing(*_: object, **__: object) -> None:
    """Logs nothing."""


GIVEN: dict[str, Any] = {
    "FunctionCall": function_call,
    "find_tool_properties": lambda *_: {},
    "find_tool_name": lambda *_: True,
    "make_tool_call_id": lambda **_: "1",
    "get_tool_call_id_type": lambda _: "random",
    "SpecialTokens": Tokens(),
    "is_mistral_tokenizer": lambda _: False,
    "init_logger": lambda _: SimpleNamespace(debug=nothing, warning=nothing, exception=nothing),
    "StreamState": lambda **facts: SimpleNamespace(history_tool_call_cnt=0, **facts),
    "envs": SimpleNamespace(SGLANG_FORWARD_UNKNOWN_TOOLS=SimpleNamespace(get=lambda: False)),
    "StreamingParseResult": lambda **facts: SimpleNamespace(**{"normal_text": "", "calls": []} | facts),
    "ToolCallItem": Delta,
    "DeltaMessage": Delta,
    "DeltaToolCall": Delta,
    "DeltaFunctionCall": delta_function,
}


class Stand(types.ModuleType):
    """A module that is not there: every name in it is a class that does nothing."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return GIVEN.get(name, Anything)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, folder: Path, *roots: str) -> None:
        self.folder, self.roots = folder, roots

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] not in self.roots:
            return None
        file = self.folder / f"{name.replace('.', '/')}.py"
        if file.is_file():
            return importlib.util.spec_from_file_location(name, file)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return Stand(spec.name)

    def exec_module(self, module: Any) -> None:
        """A stand-in is whole as it is."""


class Tokenizer:
    def get_vocab(self) -> dict[str, int]:
        return {"[TOOL_CALLS]": 1, "[ARGS]": 2}


@cache
def adapters() -> types.ModuleType:
    """The module with an adapter of each reader. Stand-ins stay, since the engine imports while it works."""
    sys.meta_path.insert(0, Finder(members("vllm", VERSION, *FILES), *ROOTS))
    return importlib.import_module("vllm.parser.engine.registered_adapters")


def reader(module: types.ModuleType, class_name: str) -> Callable[[str], Calls]:
    """Gives the calls of a response with their arguments as texts; None where it is taken for plain text."""
    request = SimpleNamespace(tools=None, tool_choice=None)

    def calls(text: str) -> Calls:
        made = getattr(module, class_name)(Tokenizer())
        made.model_tokenizer = Tokenizer()
        result = made.extract_tool_calls(text, request)
        return [(call.function.name, call.function.arguments) for call in result.tool_calls] or None

    return calls


def streamed(module: types.ModuleType, class_name: str, pieces: Sequence[str]) -> Calls:
    """The calls as a client puts them together out of a stream of pieces."""
    request = SimpleNamespace(tools=None, tool_choice=None)
    made = getattr(module, class_name)(Tokenizer())
    made.model_tokenizer = Tokenizer()
    calls: dict[int, list[str]] = {}
    deltas = [made.extract_tool_calls_streaming("", "", piece, [], [], [], request) for piece in pieces]
    for delta in [*deltas, made.finish_streaming()]:
        for call in (delta and delta.tool_calls) or ():
            name, arguments = calls.setdefault(call.index, ["", ""])
            calls[call.index] = [
                name + ((call.function and call.function.name) or ""),
                arguments + ((call.function and call.function.arguments) or ""),
            ]
    return [(name, arguments) for name, arguments in calls.values()] or None
