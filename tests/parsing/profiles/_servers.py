"""Model servers' readers of tool calls out of their wheels, with stand-ins for all else that they import.

A wheel has hundreds of megabytes and needs PyTorch: only the readers' own files are fetched. vLLM's `mistral` reader is
that of 0.11; later releases read by an engine.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import logging
import random
import re
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from tests.parsing.profiles._released import in_pieces, members, wheel
from webapp.parsing import parse
from webapp.parsing.edit import apply

SEED = 20261122
VLLM, BEFORE_THE_ENGINE, SGLANG, HARMONY = "0.33.0", "0.11.0", "0.5.23", "0.0.11"


class Reader(NamedTuple):
    """A class of a server's, and the pieces of what models write for it, as they may follow one another."""

    server: str
    version: str
    module: str
    name: str
    pieces: list[str] = []


_ENGINE = "vllm.parser.engine.registered_adapters"
_PARSERS = "vllm.tool_parsers"
_DETECTORS = "sglang.srt.function_call"


def _by_engine(name: str, pieces: str) -> Reader:
    """Of pieces with white space between; ~ is white space in one, ^ DeepSeek's mark."""
    words = (word.replace("~", "\n" if word == "~" else " ").replace("^", "｜DSML｜") for word in pieces.split())
    return Reader("vllm", VLLM, _ENGINE, f"{name}ParserToolAdapter", list(words))


def _by_detector(module: str, name: str, pieces: str) -> Reader:
    """Of pieces with @ between; ~ is a line feed in one."""
    words = pieces.replace("\n        ", "").replace("~", "\n").split("@")
    return Reader("sglang", SGLANG, f"{_DETECTORS}.{module}_detector", f"{name}Detector", words)


_QWEN3 = """<tool_call> <function= f > ~ <parameter= x > 1 ~ </parameter> </function> </tool_call>
    <~parameter~=~y~> "name":"y" <think>"""
_DEEPSEEK = """<^function_calls> <^tool_calls> <^tool> <^~calls> <^invoke~name=" <^~invoke~name=" f "> \\ud800
    <^parameter~name="x"~string="true"> <^parameter~name="y"> <^~parameter~name="y"~string="false"> 1 [1] oops
    </^parameter> </^~parameter> </^invoke> </^~invoke> </^tool_calls> </^function_calls> </^~calls> <think>"""
_OSS = [
    *("<|channel|>", "commentary", "analysis<|message|>I think.<|end|>", "<|start|>", "assistant", "user", "f"),
    *("<|channel|>commentary", " to=functions.f", " to=g", "to=python.x", " ", "<|constrain|>", "json", " code"),
    *("<|message|>", '{"a": 1}', "{oops}", "é\n", "<|call|>", "<|end|>", "<|start|>assistant", "<|channel|>final"),
    *("<|message|>", "[NaN]", "<|return|>", "<|start|>assistant to=functions.h<|channel|>commentary json<|message|>{}"),
]
_OLD = "vllm.entrypoints.openai.tool_parsers.mistral_tool_parser"
READERS = {
    "vllm-hermes": Reader("vllm", VLLM, f"{_PARSERS}.hermes_tool_parser", "Hermes2ProToolParser"),
    "vllm-llama3": Reader("vllm", VLLM, f"{_PARSERS}.llama_tool_parser", "Llama3JsonToolParser"),
    "vllm-deepseek-v31": Reader("vllm", VLLM, f"{_PARSERS}.deepseekv31_tool_parser", "DeepSeekV31ToolParser"),
    "vllm-mistral": Reader("vllm", BEFORE_THE_ENGINE, _OLD, "MistralToolParser"),
    "vllm-kimi-k2": _by_engine(
        "KimiK2",
        """<|tool_calls_section_begin|> <|tool_call_begin|> functions.f:0 g:1 <|tool_call_argument_begin|>
        {"a":1} {"name":"x:3"} {"name":"y","arguments":{"b":[1]}} <|tool_call_end|> <|tool_calls_section_end|> f""",
    ),
    "vllm-glm47": _by_engine(
        "Glm47Moe",
        """<tool_call> f ~ <arg_key> x </arg_key> ~ <arg_value> 1 "name":"y" </arg_value> <arg_key> y
        </tool_call> </think>""",
    ),
    "vllm-minimax-m2": _by_engine(
        "MinimaxM2",
        """<minimax:tool_call> <invoke~name=" <invoke~name=' <invoke~name= f g "> '> > v 1
        <parameter~name="x"> <parameter~name=y> </parameter> </invoke> </minimax:tool_call> ~ "name":"y" </think>""",
    ),
    "vllm-qwen3-coder": _by_engine("Qwen3", _QWEN3),
    "vllm-mimo": _by_engine("MiMo", _QWEN3),
    "vllm-seed-oss": _by_engine("SeedOss", _QWEN3.replace("tool_call>", "seed:tool_call>")),
    "vllm-deepseek-v32": _by_engine("DeepSeekV32", _DEEPSEEK),
    "vllm-deepseek-v4": _by_engine("DeepSeekV4", _DEEPSEEK),
    "vllm-deepseek-v41": _by_engine("DeepSeekV41", _DEEPSEEK),
    "vllm-mistral-v11": _by_engine("Mistral", """[TOOL_CALLS] f ~g [ARGS] {"a":1} {"name":"x","b":{}} ~bye { } " """),
    "vllm-gpt-oss": Reader("vllm", VLLM, "vllm.parser.harmony", "HarmonyParser", _OSS),
    "sglang-qwen25": _by_detector(
        "qwen25",
        "Qwen25",
        """<tool_call>~@{"name": "f", "arguments": {"a": 1}}@~</tool_call>@prose@<tool_call>~@
        [{"name": "g", "parameters": {"b": 2}}]@~</tool_call>@<tool_call>~@{"name": ""}@7@~</tool_call>""",
    ),
    "sglang-deepseek-v3": _by_detector(
        "deepseekv3",
        "DeepSeekV3",
        """<｜tool▁calls▁begin｜>@<｜tool▁call▁begin｜>@function@<｜tool▁sep｜>@f@~```json~@{"a": 1}@
        ~```@<｜tool▁call▁end｜>@<｜tool▁call▁begin｜>@<｜tool▁sep｜>@g@~```json~@[]@~```@<｜tool▁call▁end｜>""",
    ),
    "sglang-kimi-k2": _by_detector(
        "kimik2",
        "KimiK2",
        """<|tool_calls_section_begin|>@<|tool_call_begin|>@ functions.f:0 @<|tool_call_argument_begin|>@
        {"a": {}}@~@<|tool_call_end|>@<|tool_call_begin|>@g.h-i:12@<|tool_call_argument_begin|>@
        {oops}@<|tool_call_end|>@3""",
    ),
    "sglang-gpt-oss": _by_detector(
        "gpt_oss",
        "GptOss",
        """<|start|>assistant@<|start|>assistant<|channel|>commentary@<|channel|>@commentary@final@
        <|start|>assistant<|channel|>analysis@ to=functions.f @ to=g-h@<|constrain|>json@<|message|>@{"a": 1}@ {oops}@
        <|start|>assistant<|channel|>commentary to=functions.f<|constrain|>json<|message|>{"b": {}}<|call|>@<|call|>@
        []@<|end|>@<|return|>@<|weird|>@<|@|>@I think.""",
    ),
}
_MORE = {
    "vllm": "parser/engine/adapters parser/engine/events parser/engine/incremental_lexer parser/engine/parser_engine "
    "parser/engine/parser_engine_config parser/engine/streaming_parser_engine parser/engine/token_id_scanner "
    "parser/deepseek_v32 parser/deepseek_v4 parser/deepseek_v41 parser/gemma4 parser/glm47_moe parser/granite "
    "parser/granite_thinking parser/inkling parser/kimi_k2 parser/mimo parser/minimax_m2 parser/minimax_m3 "
    "parser/mistral parser/nemotron_v3 parser/plamo3 parser/qwen3 parser/seed_oss parser/step3p5 tool_parsers/utils "
    "tool_parsers/abstract_tool_parser tool_parsers/tool_strict_level "
    "entrypoints/openai/parser/harmony_utils",
    "sglang": "srt/function_call/base_format_detector srt/function_call/utils srt/parser/harmony_parser",
}
"""what the readers are made of, beside their own modules"""
CALLS = (
    '{"name": "f", "arguments": {"x": 1}}',
    '{"name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2]}}',
    '{"name": "f", "parameters": {"text": "a \\"b\\" {c}"}}',
    '{"name": "f", "arguments": "{}"}',
    '{"arguments": {}}',
    '{"name": 5, "arguments": null}',
)
WRAPPED = (
    "<tool_call>\n$\n</tool_call>",
    "I look.\n<tool_call>$</tool_call>\n<tool_call>$",
    "<|python_tag|>$; $",
    "Calling $ now.",
    "[TOOL_CALLS][$]",
    "I look. [TOOL_CALLS] [$, $] </s>",
    "[TOOL_CALLS]$",
    "[TOOL_CALLS]f$[TOOL_CALLS]",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>$<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f\n<｜tool▁call▁begin｜>g<｜tool▁sep｜>$<｜tool▁call▁end｜>",
)
PIECES = ["", "", *'{}[]",:\\\n 1>', "[TOOL_CALLS]", "</tool_call>", "<tool_call>", "<function=", "</function>"]
PIECES += ["<parameter=", "<｜tool▁sep｜>", "<｜tool▁call▁begin｜>"]
SPECIAL = re.compile(
    r"<\|[^|<>]+\|>|<｜[^｜<>]+｜>|｜DSML｜|\[[A-Z_]+\]|</?(?:(?:\w+:)?(?:tool_call|think)|arg_key|arg_value)>"
)
"""a token of a model's own vocabulary"""
TOKENS = ["<tool_call>", "</tool_call>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"]
TOKENS += ["[TOOL_CALLS]", "<|python_tag|>"]


def responses(name: str, most: int, cases: list[str] | None = None) -> list[str]:
    """What a model may write for a reader: its pieces, or the cases and calls in each wrapping with a change or two."""
    if READERS[name].pieces:
        return list(in_pieces(READERS[name].pieces, most, SEED))
    dice, cases = random.Random(SEED), cases or []
    texts = [*cases, *(dice.choice(WRAPPED).replace("$", case) for case in cases)]
    for number in range(most - len(texts)):
        text = WRAPPED[number % len(WRAPPED)].replace("$", dice.choice(CALLS))
        for _ in range(number % 3):
            at = dice.randint(0, len(text))
            text = text[:at] + dice.choice(PIECES) + text[at + dice.randint(0, 2) :]
        texts.append(text)
    return texts


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


class Tokenizer:
    def get_vocab(self) -> dict[str, int]:
        return {token: at for at, token in enumerate([*TOKENS, "[ARGS]"])}

    def decode(self, tokens: list[int]) -> str:
        return ""


class ToolParser(Anything):
    """What vLLM's readers were made of in 0.11: a tokenizer that knows every token."""

    model_tokenizer = Tokenizer()
    vocab = dict.fromkeys(TOKENS, 1)


class HarmonyParser(Anything):
    """What vLLM's reader of harmony is made of: calls are asked for, thoughts are not."""

    reasoning_parser, tool_parser, model_tokenizer = None, Anything(), Tokenizer()


class Delta(Anything):
    """A piece of a streamed answer, or a call of one: what was not set is None."""

    def model_dump(self, **_: Any) -> Delta:
        return self

    def __getattr__(self, name: str) -> None:
        return None


def function_call(name: str | None = None, arguments: str | None = None, **_: Any) -> Delta:
    """As pydantic has it: a name that is no text, or a text that is no UTF-8, is refused."""
    if not (name is None or isinstance(name, str)):
        raise TypeError("name")
    f"{name}{arguments}".encode()
    return Delta(name=name, arguments=arguments)


class Declared(dict[str, int]):
    """The tools of a request that declares every name."""

    def __contains__(self, name: object) -> bool:
        return True

    def get(self, name: str, other: Any = None) -> Any:
        return 0


GIVEN: dict[str, Any] = {
    "FunctionCall": function_call,
    "DeltaFunctionCall": function_call,
    "DeltaMessage": Delta,
    "DeltaToolCall": Delta,
    "ToolCallItem": Delta,
    "ToolParser": ToolParser,
    "DelegatingParser": HarmonyParser,
    "register_vllm_structural_tag": lambda *_, **__: lambda made: made,
    "ToolParserManager": SimpleNamespace(register_module=lambda _: lambda made: made),
    "find_tool_properties": lambda *_: {},
    "find_tool_name": lambda *_: True,
    "make_tool_call_id": lambda **_: "1",
    "get_tool_call_id_type": lambda _: "random",
    "SpecialTokens": Tokens(),
    "is_mistral_tokenizer": lambda _: False,
    "init_logger": logging.getLogger,
    "StreamState": lambda **facts: SimpleNamespace(history_tool_call_cnt=0, **facts),
    "envs": SimpleNamespace(SGLANG_FORWARD_UNKNOWN_TOOLS=SimpleNamespace(get=lambda: False)),
    "VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS": 60,
    "StreamingParseResult": lambda **facts: SimpleNamespace(**{"normal_text": "", "calls": []} | facts),
}


class Stand(types.ModuleType):
    """A module that is not there: every name in it is a class that does nothing."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return GIVEN.get(name, Anything)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the servers' files that were fetched, and stand-ins for all else that they import."""

    roots = ("vllm", "sglang", "xgrammar", "openai_harmony", "mistral_common", "ijson", "transformers")

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] == "openai_harmony":
            return importlib.machinery.PathFinder.find_spec(name, path or [str(wheel("oss-harmony", HARMONY))])
        if name.partition(".")[0] not in self.roots:
            return None
        for folder in _folders():
            if (file := folder / f"{name.replace('.', '/')}.py").is_file():
                return importlib.util.spec_from_file_location(name, file)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return Stand(spec.name)

    def exec_module(self, module: Any) -> None:
        """A stand-in is whole as it is."""


@cache
def _folders() -> list[Path]:
    """The folders with the files of each release."""
    files: dict[tuple[str, str], list[str]] = {}
    for reader in READERS.values():
        files.setdefault((reader.server, reader.version), []).append(f"{reader.module.replace('.', '/')}.py")
    newest = {reader.server: reader.version for reader in READERS.values()}
    for server, names in _MORE.items():
        files[server, newest[server]] += [f"{server}/{name}.py" for name in names.split()]
    return [members(server, version, *dict.fromkeys(names)) for (server, version), names in files.items()]


def forget() -> None:
    """Import the servers' modules anew, since other releases of them are read now."""
    _folders.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in Finder.roots]:
        del sys.modules[name]


def made(name: str) -> Any:
    """A new reader, which has read nothing yet. Stand-ins stay, since readers import while they work."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
        for server in ("vllm", "sglang"):
            logging.getLogger(server).setLevel(logging.CRITICAL + 1)
    reader = READERS[name]
    new = getattr(importlib.import_module(reader.module), reader.name)
    if reader.server == "vllm":
        return new(Tokenizer())
    detector = new()
    detector._get_tool_indices = lambda tools: Declared()
    return detector


Calls = list[tuple[str, str]]
REQUEST = SimpleNamespace(tools=None, tool_choice=None, include_reasoning=False)


def at_once(name: str, text: str) -> Calls | None:
    """The calls of a response with their arguments as texts; None where it is taken for plain text."""
    if READERS[name].server == "sglang":
        return [(call.name, call.parameters) for call in made(name).detect_and_parse(text, []).calls or ()] or None
    reader = made(name)
    if name == "vllm-gpt-oss":
        calls = reader.parse(text, REQUEST, model_output_token_ids=_tokens(text))[2] or []
        return [(call.name, call.arguments) for call in calls] or None
    result = reader.extract_tool_calls(text, REQUEST)
    calls = [(call.function.name, call.function.arguments) for call in result.tool_calls]
    return calls if result.tools_called else None


def streamed(name: str, text: str, most: int) -> Calls:
    """The calls as a client puts them together out of a stream of pieces of at most so many characters."""
    calls: dict[int, list[str]] = {}
    for at, called, arguments in _deltas(made(name), text, most):
        call = calls.setdefault(at, ["", ""])
        call[0] += called or ""
        call[1] += arguments or ""
    return [(called, arguments) for called, arguments in calls.values()]


def _deltas(reader: Any, whole: str, most: int) -> Iterator[tuple[int, str | None, str | None]]:
    text = ""
    if hasattr(reader, "process_chunk"):
        tokens = _tokens(whole)
        for at in range(0, len(tokens), most):
            piece = tokens[at : at + most]
            yield from _called(reader.parse_delta("", piece, REQUEST, finished=at + most >= len(tokens)))
        return
    if hasattr(reader, "parse_streaming_increment"):
        yield from _of_sglang(reader, cut(whole, most))
        return
    last = Delta()
    for piece in cut(whole, most):
        before, text = text, text + piece
        last = reader.extract_tool_calls_streaming(before, text, piece, [], [], [], REQUEST)
        yield from _called(last)
    if hasattr(reader, "finish_streaming"):
        yield from _called(reader.finish_streaming())
    elif last and last.tool_calls:
        yield last.tool_calls[-1].index, None, reader.get_remaining_unstreamed_args()


def _of_sglang(reader: Any, pieces: list[str]) -> Iterator[tuple[int, str | None, str | None]]:
    """With what is flushed at the end, and what the server itself adds of the last call's arguments."""
    for given in (*(reader.parse_streaming_increment(piece, []) for piece in pieces), reader.finish([])):
        for call in given.calls:
            yield call.tool_index, call.name, call.parameters
    last = len(reader.prev_tool_call_arr) - 1
    if 0 <= last < len(reader.streamed_args_for_tool):
        expected, sent = reader.prev_tool_call_arr[last].get("arguments", {}), reader.streamed_args_for_tool[last]
        expected = expected if isinstance(expected, str) else json.dumps(expected, ensure_ascii=False)
        yield last, None, expected[len(sent) :] if expected.startswith(sent) else ""


def cut(text: str, most: int) -> list[str]:
    """Pieces of at most so many characters; a model's special tokens come whole and alone, as servers get them."""
    if most >= len(text):
        return [text]
    return re.findall(rf"{SPECIAL.pattern}|(?:(?!{SPECIAL.pattern})[\s\S]){{1,{most}}}", text)


def _tokens(text: str) -> list[int]:
    """What a model wrote to write it: harmony is read by tokens, and a stream is cut between them."""
    encoding = importlib.import_module("vllm.entrypoints.openai.parser.harmony_utils").get_encoding()
    tokens: list[int] = encoding.encode(text, allowed_special="all")
    return tokens


def _called(delta: Any) -> Iterator[tuple[int, str | None, str | None]]:
    for call in (delta and delta.tool_calls) or ():
        function = call.function or Delta()
        yield call.index, function.name, function.arguments


def released(name: str, text: str) -> str | None:
    """The calls with their arguments as values, a text where they are none; in a word where the request fails."""
    return _outcome(lambda: at_once(name, text))


def _outcome(read: Callable[[], Any]) -> str | None:
    try:
        calls = read()
    except (UnicodeEncodeError, TypeError, AttributeError, RecursionError):
        return "refused"
    return None if calls is None else json.dumps([[called, decoded(arguments)] for called, arguments in calls])


def decoded(arguments: str) -> Any:
    """As the caller decodes them; a text where that fails."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def ours(name: str, text: str) -> str | None:
    """What the profile makes of a text, as `released`."""
    trace = parse(text, name)
    reasons = " ".join(filter(None, (attempt.reason for attempt in trace.attempts)))
    if ("ValidationError" in reasons and name not in OLD) or "AttributeError" in reasons or "peg-native" in reasons:
        return "refused"
    if name in OF_VALUES:
        return json.dumps(list(_of_values(trace.values))) if trace.values else None
    calls = list(_of_attempts(trace, text, name))
    is_lost = name == "vllm-deepseek-v31" and "this text is lost" in reasons
    return json.dumps(calls) if calls or is_lost else None


OLD = ("vllm-hermes", "vllm-llama3", "vllm-deepseek-v31", "vllm-mistral")
"""which answer with plain text where others refuse"""
OF_VALUES = ("vllm-hermes", "vllm-llama3", "vllm-mistral", "sglang-qwen25")
"""whose values are whole calls"""
DECODING = ("sglang-gpt-oss", "sglang-deepseek-v3")
"""which drop arguments that do not decode"""


def _of_values(values: tuple[Any, ...]) -> Iterator[list[Any]]:
    for value in values:
        for call in value if isinstance(value, list) else [value]:
            if "name" in call:
                yield [call["name"], call["arguments"] if "arguments" in call else call.get("parameters", {})]


def _of_attempts(trace: Any, text: str, name: str) -> Iterator[list[Any]]:
    for attempt in trace.attempts:
        _, calling, called = (attempt.note or "").partition("; read as it stands")[0].partition("calls ")
        if not calling or attempt.reason or not (attempt.ok or name not in DECODING):
            continue
        if attempt.strategy == "derived":
            yield [called, attempt.value.get("arguments", {})]
        else:
            value = attempt.value if attempt.ok else apply(text, attempt.span, attempt.edits)
            yield [called, value or {} if name == "sglang-deepseek-v3" else value]
