"""vLLM's tool-call readers as we restate them against the released modules, run with stand-ins for what they import.

The wheel has hundreds of megabytes and needs PyTorch: only the readers' own files are fetched. The `mistral` reader
is that of 0.11; later releases read by an engine, which `test_vllm_engine.py` runs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.parsing.profiles._released import members, module
from tests.parsing.profiles.test_released import texts
from webapp.parsing import parse
from webapp.parsing.engine import profile

SEED = 20261122
LATEST, BEFORE_THE_ENGINE = "0.33.0", "0.11.0"
CALLS = (
    '{"name": "f", "arguments": {"x": 1}}',
    '{"name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2]}}',
    '{"name": "f", "parameters": {"text": "a \\"b\\" {c}"}}',
    '{"name": "f", "arguments": "{}"}',
    '{"arguments": {}}',
    '{"name": 5, "arguments": null}',
)
WRAPPED: tuple[Callable[[str], str], ...] = (
    lambda call: f"<tool_call>\n{call}\n</tool_call>",
    lambda call: f"I look.\n<tool_call>{call}</tool_call>\n<tool_call>{call}",
    lambda call: f"<|python_tag|>{call}; {call}",
    lambda call: f"Calling {call} now.",
    lambda call: f"[TOOL_CALLS][{call}]",
    lambda call: f"I look. [TOOL_CALLS] [{call}, {call}] </s>",
    lambda call: f"[TOOL_CALLS]{call}",
    lambda call: f"[TOOL_CALLS]f{call}[TOOL_CALLS]",
    lambda call: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{call}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    lambda call: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f\n<｜tool▁call▁begin｜>g<｜tool▁sep｜>{call}<｜tool▁call▁end｜>"
    ),
)
PIECES = (
    "",
    "",
    "{",
    "}",
    "[",
    "]",
    '"',
    ",",
    ":",
    "\\",
    "\n",
    " ",
    "[TOOL_CALLS]",
    "</tool_call>",
    "<tool_call>",
    "1",
    "<function=",
    "</function>",
    "<parameter=",
    ">",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁begin｜>",
)


def responses(shared: Path) -> Iterator[str]:
    """The shared cases and their mutations, bare and in each wrapping, and calls with a change or two: 5,000 texts."""
    dice = random.Random(SEED)
    cases = texts(shared)
    yield from cases
    for case in cases:
        yield dice.choice(WRAPPED)(case)
    yield from wrapped(5_000 - 2 * len(cases), dice)


def wrapped(most: int, dice: random.Random | None = None) -> Iterator[str]:
    """Calls in each wrapping, with a change or two."""
    dice = dice or random.Random(SEED)
    for number in range(most):
        text = WRAPPED[number % len(WRAPPED)](dice.choice(CALLS))
        for _ in range(number % 3):
            at = dice.randint(0, len(text))
            text = text[:at] + dice.choice(PIECES) + text[at + dice.randint(0, 2) :]
        yield text


TOKENS = (
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<tool_call>",
    "</tool_call>",
)


class ToolParser:
    """What the readers are made of: a tokenizer that knows every token."""

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        self.model_tokenizer = tokenizer

    @property
    def vocab(self) -> dict[str, int]:
        return dict.fromkeys(TOKENS, 1)


def function_call(name: Any, arguments: str) -> Any:
    """As pydantic has it: a name that is no text, or a text that is no UTF-8, is refused."""
    if not isinstance(name, str):
        raise TypeError("name")
    f"{name}{arguments}".encode()
    return SimpleNamespace(name=name, arguments=arguments)


class ToolCall(SimpleNamespace):
    """Whatever it is given."""


def _quiet(*_: object) -> None:
    """Logs nothing."""


def reader(version: str, path: str, class_name: str, **helpers: Any) -> Any:
    """A reader out of its file, with stand-ins for all that it imports but these helpers."""
    names = dict.fromkeys(
        ("ChatCompletionRequest", "ChatCompletionToolsParam", "DeltaFunctionCall", "DeltaMessage", "DeltaToolCall"),
        object,
    )
    names |= dict.fromkeys(("ResponsesRequest", "TokenizerLike", "AnyTokenizer", "Tool", "Allow"), object)
    names |= {"ToolParser": ToolParser, "ToolCall": ToolCall, "FunctionCall": function_call}
    names |= {"ExtractedToolCallInformation": SimpleNamespace, "MistralTokenizer": type("MistralTokenizer", (), {})}
    names |= dict.fromkeys(
        ("find_common_prefix", "is_complete_json", "partial_json_loads", "partial_tag_overlap"), None
    )
    names |= {"make_tool_call_id": None, "extract_intermediate_diff": None, "PreTrainedTokenizerBase": object}
    names |= {"is_mistral_tokenizer": lambda tokenizer: False, "Field": lambda **about: None}
    names |= {
        "init_logger": lambda name: SimpleNamespace(
            **dict.fromkeys(("exception", "error", "warning", "info", "debug"), _quiet)
        )
    }
    names |= {"ToolParserManager": SimpleNamespace(register_module=lambda name: lambda made: made)}
    names |= {"VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS": 60}
    made = module(members("vllm", version, path) / path, **dict.fromkeys(_IMPORTED, names | helpers))
    return getattr(made, class_name)(SimpleNamespace())


def released(version: str, path: str, class_name: str) -> Callable[[str], list[tuple[str, Any]] | None]:
    """Gives the calls of a response; None where it is taken for plain text."""
    made = reader(version, path, class_name)

    def calls(text: str) -> list[tuple[str, Any]] | None:
        result = made.extract_tool_calls(text, SimpleNamespace(tools=None))
        if not result.tools_called:
            return None
        return [(call.function.name, _decoded(call.function.arguments)) for call in result.tool_calls]

    return calls


def _decoded(arguments: str) -> Any:
    """As the caller decodes them; a text where that fails."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


_IMPORTED = (
    "partial_json_parser", "partial_json_parser__core__options", "transformers", "pydantic", "vllm", "vllm__envs",
    "vllm__logger", "vllm__entrypoints__openai__protocol", "vllm__entrypoints__openai__chat_completion__protocol",
    "vllm__entrypoints__openai__responses__protocol", "vllm__entrypoints__generate__base__protocol",
    "vllm__entrypoints__openai__tool_parsers__abstract_tool_parser", "vllm__entrypoints__openai__tool_parsers__utils",
    "vllm__renderers__chat_utils", "vllm__tokenizers", "vllm__tool_parsers__abstract_tool_parser",
    "vllm__tool_parsers__utils", "vllm__transformers_utils__tokenizer", "vllm__utils__mistral",
)  # fmt: skip


def ours(text: str, name: str) -> list[tuple[str, Any]] | None:
    """The calls that our profile reads, as those of `released`."""
    trace = parse(text, name)
    values = trace.values
    if name == "vllm-deepseek-v31":
        calls = [at for at in trace.attempts if at.note and not at.reason]
        return [(at.note[6:], at.value if at.ok else at.span.of(text)) for at in calls] or (
            [] if _lost(trace) else None
        )
    if not values:
        return None
    calls = values[0] if name == "vllm-mistral" else values
    return [(call["name"], call["arguments"] if "arguments" in call else call["parameters"]) for call in calls]


def _lost(trace: Any) -> bool:
    return any("this text is lost" in (attempt.reason or "") for attempt in trace.attempts)


RELEASED = {
    "vllm-hermes": (LATEST, "vllm/tool_parsers/hermes_tool_parser.py", "Hermes2ProToolParser"),
    "vllm-llama3": (LATEST, "vllm/tool_parsers/llama_tool_parser.py", "Llama3JsonToolParser"),
    "vllm-deepseek-v31": (LATEST, "vllm/tool_parsers/deepseekv31_tool_parser.py", "DeepSeekV31ToolParser"),
    "vllm-mistral": (
        BEFORE_THE_ENGINE, "vllm/entrypoints/openai/tool_parsers/mistral_tool_parser.py", "MistralToolParser",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASED)
def test_a_restatement_reads_what_the_release_reads(name: str, shared: Path) -> None:
    pytest.importorskip("regex")
    read = released(*RELEASED[name])
    assert profile(name).version == f"restated-{RELEASED[name][0].rpartition('.')[0]}"
    different, some = [], 0
    for text in responses(shared):
        calls = read(text)
        some += bool(calls)
        if json.dumps(calls) != json.dumps(ours(text, name)):
            different.append(text)
    assert different == []
    assert some > 50
