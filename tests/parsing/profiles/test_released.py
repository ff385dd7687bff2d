"""Our re-statements of people's parsers against the released ones: same value or same refusal on every text."""

from __future__ import annotations

import importlib
import json
import logging
import math
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.locked import locked
from tests.parsing import _cases
from tests.parsing.profiles import _compiled, _servers
from tests.parsing.profiles._released import (
    FOLDER,
    fetch,
    functions,
    imported,
    in_pieces,
    members,
    module,
    packages,
    packed,
    wheel,
)
from tests.parsing.profiles._servers import READERS
from webapp.capture.plain_values import no_json, plain
from webapp.parsing import parse
from webapp.parsing.decode import decode
from webapp.parsing.edit import apply
from webapp.parsing.engine import profile, profiles
from webapp.parsing.outcomes import run
from webapp.parsing.profiles._about import AGENTS as CODING
from webapp.parsing.profiles._about import RESTATED, SERVERS

Parser = Callable[[str], Any]
SEED = 20261122
pytestmark = pytest.mark.timeout(600)  # a parser is compiled, which takes minutes on a busy machine


def texts(shared: Path) -> list[str]:
    """The shared cases, and each of them with a character less and cut off somewhere."""
    cases = _cases.given(shared)
    assert len(cases) == 239
    return [*cases, *_mutations([case for case in cases if 0 < len(case) < 3000])]


def _mutations(cases: list[str]) -> Iterator[str]:
    dice = random.Random(SEED)
    for case in cases:
        at = dice.randrange(len(case))
        yield case[:at] + case[at + 1 :]
        yield case[: dice.randrange(len(case))]


class Refused(ValueError):
    """What the stand-ins raise for the frameworks' own exceptions."""

    def __init__(self, *args: Any, **facts: Any) -> None:
        super().__init__(*args)


PINNED: dict[str, str] = {}
"""releases to be run in place of those that the profiles restate"""


def release_of(name: str) -> tuple[str, str]:
    """The package that a profile's page names as its source, and the release."""
    source = re.search(r"Source: (\S+) ([^ ,]+)", profile(name).about)
    assert source
    return source[1], PINNED.get(name, source[2])


def file_of(name: str, member: str, *options: str) -> Path:
    """A file of the release that a profile restates."""
    return wheel(*release_of(name), *options) / member


def langchain() -> Parser:
    path = file_of("langchain", "langchain_core/utils/json.py")
    return module(path, langchain_core__exceptions={"OutputParserException": Refused}).parse_json_markdown


def llamaindex() -> Parser:
    path = file_of("llamaindex", "llama_index/core/output_parsers/utils.py")
    return module(path, llama_index__core__output_parsers__base={"OutputParserException": Refused}).parse_json_markdown


def instructor() -> Parser:
    cut_out = module(file_of("instructor", "instructor/v2/core/json.py")).extract_json_from_codeblock
    return lambda text: json.loads(cut_out(text))


def smolagents() -> Parser:
    (blob,) = functions(file_of("smolagents", "smolagents/utils.py"), "parse_json_blob")
    return lambda text: blob(text)[0]


def crewai(*, pinned: bool = False) -> Parser:
    """With the libraries that are installed here, as the profile has them, or with those that CrewAI pins."""
    from json5 import loads
    from json_repair import repair_json

    if pinned:
        loads = imported(wheel("json5", "0.10.0"), "json5").loads
        repair_json = imported(wheel("json-repair", "0.60.1"), "json_repair").repair_json
    path = file_of("crewai", "crewai/tools/tool_usage.py")
    names = {"json5": SimpleNamespace(loads=loads), "repair_json": repair_json, "JSONDecodeError": json.JSONDecodeError}
    (validate,) = functions(path, "_validate_tool_input", inside="ToolUsage", **names)
    usage = SimpleNamespace(agent=None, _emit_validate_input_error=lambda error: None)
    return lambda text: validate(usage, text)


class EveryField(dict[str, Any]):
    """The fields of a signature that takes whatever the response holds."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return SimpleNamespace(annotation=object)

    def keys(self) -> Any:
        return SameAsAny()


class SameAsAny:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


def dspy() -> Parser:
    import json_repair
    import regex

    path = file_of("dspy", "dspy/adapters/json_adapter.py")
    names = {"json_repair": json_repair, "regex": regex, "AdapterParseError": Refused, "SignatureMeta": object}
    names |= {"parse_value": lambda value, annotation: value, "apply_output_field_defaults": lambda _, fields: fields}
    (parse_fields,) = functions(path, "parse", inside="JSONAdapter", **names)
    signature = SimpleNamespace(output_fields=EveryField())
    return lambda text: parse_fields(SimpleNamespace(), signature, text)


def pydantic_ai() -> Parser:
    from pydantic import TypeAdapter

    path = file_of("pydantic-ai", "pydantic_ai/_utils.py")
    line = next(line for line in path.read_text("utf-8").splitlines() if line.startswith("_MARKDOWN_FENCES_PATTERN"))
    space: dict[str, Any] = {"re": re}
    exec(line, space)
    (strip,) = functions(path, "strip_markdown_fences", _MARKDOWN_FENCES_PATTERN=space["_MARKDOWN_FENCES_PATTERN"])
    adapter = TypeAdapter(object)
    return lambda text: adapter.validate_json(strip(text))


def langchain_tool_call() -> Parser:
    names = {"JSONDecodeError": json.JSONDecodeError, "OutputParserException": Refused}
    path = file_of("langchain-tool-call", "langchain_core/output_parsers/openai_tools.py")
    (parse_tool_call,) = functions(path, "parse_tool_call", **names)
    return lambda text: parse_tool_call({"function": {"name": "f", "arguments": text}}, return_id=False)["args"]


def openai_agents() -> Parser:
    path = file_of("openai-agents", "agents/tool.py")
    names = {"_debug": SimpleNamespace(DONT_LOG_TOOL_DATA=True), "logger": logging.getLogger(__name__)}
    (read,) = functions(path, "_parse_function_tool_json_input", ModelBehaviorError=Refused, **names)
    return lambda text: read(tool_name="f", input_json=text)


def openai_agents_partial() -> Parser:
    from pydantic import TypeAdapter, ValidationError

    path = file_of("openai-agents-partial", "agents/util/_json.py")
    names = {"_debug": SimpleNamespace(DONT_LOG_MODEL_DATA=True, DONT_LOG_TOOL_DATA=True), "Literal": dict}
    errors = {"ValidationError": ValidationError, "ModelBehaviorError": Refused, "_error_tracing": SimpleNamespace()}
    (validate,) = functions(path, "validate_json", **names, **errors, Any=Any)
    return lambda text: validate(text, TypeAdapter(object), partial=True)


def autogen() -> Parser:
    return module(file_of("autogen", "autogen_core/utils/_load_json.py")).extract_json_from_str


def google_adk() -> Parser:
    member = "google/adk/models/lite_llm.py"
    path = members(*release_of("google-adk"), member) / member
    key = re.search(r'^_UNQUOTED_KEY_RE = re.compile\(r"(.+)"\)$', path.read_text("utf-8"), re.MULTILINE)
    assert key
    names = {"_UNQUOTED_KEY_RE": re.compile(key[1]), "_log_repaired_arguments": lambda *_, **__: None}
    wanted = ("_quote_unquoted_json_object_keys", "_parse_tool_call_arguments")
    return functions(path, *wanted, logging=logging, **names)[1]


def openai_python() -> Parser:
    path = file_of("openai-python", "openai/lib/_parsing/_completions.py")
    names = {"PydanticFunctionTool": (), "cast": lambda _, value: value, "FunctionDefinition": dict}
    wanted = ("get_input_tool_by_name", "parse_function_tool_arguments")
    read = functions(path, *wanted, **names)[1]
    tools = [{"type": "function", "function": {"name": "f", "strict": True}}]
    return lambda text: read(input_tools=tools, function=SimpleNamespace(name="f", arguments=text))


def openai_python_stream() -> Parser:
    text = file_of("openai-python-stream", "openai/lib/streaming/chat/_completions.py").read_text("utf-8")
    (call,) = re.findall(r"parsed_arguments = (from_json\(.+?,\s+partial_mode=True,\s+\))", text, re.DOTALL)
    expression = compile(f"({call})", "_completions.py", "eval")
    from_json = importlib.import_module("jiter").from_json

    def read(text: str) -> Any:
        function = SimpleNamespace(arguments=text)
        return eval(expression, {"from_json": from_json, "tool_call_snapshot": SimpleNamespace(function=function)})

    return read


class Block(SimpleNamespace):
    """A block of a message, which is a model to the SDK."""


def anthropic_python() -> Parser:
    path = file_of("anthropic-python", "anthropic/lib/streaming/_messages.py")
    names = {"cast": lambda _, value: value, "Any": Any, "BaseModel": SimpleNamespace, "TRACKS_TOOL_INPUT": Block}
    (accumulate,) = functions(path, "accumulate_event", not_given=None, **names)

    def read(text: str) -> Any:
        call = Block(type="tool_use", input={})
        delta = SimpleNamespace(type="input_json_delta", partial_json=text)
        event = SimpleNamespace(type="content_block_delta", index=0, delta=delta)
        accumulate(event=event, current_snapshot=SimpleNamespace(content=[call]), json_bufs={}, output_format=None)
        return call.input

    return read


def mcp_python() -> Parser:
    path = file_of("mcp-python", "mcp/server/mcpserver/utilities/func_metadata.py")
    (pre_parse,) = functions(path, "pre_parse_json", inside="FuncMetadata")

    def read(text: str) -> Any:
        arguments = json.loads(text)
        if not isinstance(arguments, dict):
            return arguments
        fields = {key: SimpleNamespace(annotation=object, alias=None) for key in arguments}
        return pre_parse(SimpleNamespace(arg_model=SimpleNamespace(model_fields=fields)), arguments)

    return read


def litellm_tool_call() -> Parser:
    member = "litellm/litellm_core_utils/prompt_templates/tool_call_json_repair.py"
    path = members(*release_of("litellm-tool-call"), member) / member
    names = {"_DECODED_JSON": SimpleNamespace(validate_python=lambda value: value)}
    names["verbose_logger"] = SimpleNamespace(warning=lambda *_: None)
    return functions(path, "_attempt_json_repair", "parse_tool_call_arguments", **names)[1]


LATER = ("--python-version", "3.14")
"""for releases that this Python cannot run, of which a function is run alone"""


def kimi_cli() -> Parser:
    path = file_of("kimi-cli", "kosong/tooling/simple.py", *LATER)
    (call,) = re.findall(r"arguments: JsonType = (json\.loads\(.+\))$", path.read_text("utf-8"), re.MULTILINE)

    def read(text: str) -> Any:
        function = SimpleNamespace(arguments=text)
        return eval(call, {"json": json, "tool_call": SimpleNamespace(function=function)})

    return read


def semantic_kernel() -> Parser:
    path = file_of("semantic-kernel", "semantic_kernel/contents/function_call_content.py")
    names: dict[str, Any] = {"logger": logging.getLogger(__name__), "FunctionCallInvalidArgumentsException": Refused}
    (read,) = functions(path, "parse_arguments", inside="FunctionCallContent", **names, Mapping=dict)
    return lambda text: read(SimpleNamespace(arguments=text))


def browser_use() -> Parser:
    (read,) = functions(file_of("browser-use", "browser_use/beta/service.py"), "_tool_arguments")

    def decoded(text: str) -> Any:
        """Nothing where the text itself is given, which no decoder took."""
        value = read(text)
        return None if value == {"value": text} else value

    return decoded


def partial_json_parser() -> Parser:
    return imported(file_of("partial-json-parser", ""), "partial_json_parser").loads


def aider() -> Parser:
    path = file_of("aider", "aider/coders/editblock_coder.py")
    words: dict[str, Any] = {}
    lines = path.read_text("utf-8").splitlines()
    wanted = r"(HEAD|DIVIDER|UPDATED)(_ERR)? = |DEFAULT_FENCE = |triple_backticks = "
    exec("\n".join(line for line in lines if re.match(wanted, line)), words)
    names = {name: word for name, word in words.items() if name != "__builtins__"}
    names |= {"missing_filename_err": "", "difflib": SimpleNamespace(get_close_matches=lambda *_, **__: [])}
    blocks = functions(path, "strip_filename", "find_filename", "find_original_update_blocks", **names)[-1]

    def read(text: str) -> Any:
        found = list(blocks(text))
        return [_block(*block) for block in found] if found else None

    return read


def _block(path: str | None, search: str, replace: str = "") -> dict[str, str]:
    return {"shell": search} if path is None else {"path": path, "search": search, "replace": replace}


def mini_swe_agent() -> Parser:
    models = file_of("mini-swe-agent", "minisweagent/models")
    config = (models / "litellm_textbased_model.py").read_text("utf-8")
    (pattern,) = re.findall(r'action_regex: str = r"(.+)"$', config, re.MULTILINE)
    names = {"FormatError": Refused, "StrictUndefined": None, "Template": lambda *_, **__: SimpleNamespace(render=str)}
    (parse_actions,) = functions(models / "utils" / "actions_text.py", "parse_regex_actions", **names)
    return lambda text: parse_actions(text, action_regex=pattern, format_error_template="")[0]


def openhands() -> Parser:
    path = file_of("openhands", "openhands/sdk/llm/mixins/fn_call_converter.py", *LATER)
    wanted = ["_extract_and_validate_params", "_preprocess_model_output", "_fix_stopword", "_normalize_parameter_tags"]
    wanted += ["_find_function_match", "_strip_function_call_from_content", "_convert_assistant_to_fncall"]
    text = path.read_text("utf-8")
    names: dict[str, Any] = dict(re.findall(r'^(FN_\w+_PATTERN) = r"(.+)"$', text, re.MULTILINE))
    names["_resolve_tool_name"] = lambda _, name: (name, {})
    convert = functions(path, *wanted, **names)[-1]

    def read(text: str) -> Any:
        message, calls = convert({}, text, [], 0)
        function = message["tool_calls"][0]["function"] if calls else {}
        return {"name": function["name"], "arguments": json.loads(function["arguments"])} if calls else None

    return read


def written(name: str, most: int) -> Iterator[str]:
    """What a model may write for a coding agent."""
    return in_pieces(AGENTS[name].replace("~", "\n").split("|"), most, SEED)


as_in_production = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
"""an escape that Python does not know is an error only under this suite's own filters"""


def _by_name(*makers: Callable[[], Parser]) -> dict[str, Callable[[], Parser]]:
    return {maker.__name__.replace("_", "-"): maker for maker in makers}


RELEASED = _by_name(langchain, llamaindex, instructor, smolagents, crewai, dspy, pydantic_ai, autogen)
RELEASED |= _by_name(langchain_tool_call, openai_agents, openai_agents_partial, google_adk, openai_python)
RELEASED |= _by_name(openai_python_stream, anthropic_python, mcp_python, litellm_tool_call, kimi_cli)
RELEASED |= _by_name(semantic_kernel, browser_use, partial_json_parser)
TEXTUAL = _by_name(aider, mini_swe_agent, openhands)
"""of which nothing decodes, so that a recording of them has no place to show"""
PACKED: dict[str, tuple[str, ...]] = {"mastra": (), "cline": ("package/dist/lib.mjs",)}
"""those of which one function is run alone, with the files that it is looked for in; none means all"""
IN_NODE = (
    *("anthropic-node", "cline", "jsonrepair", "mastra", "openai-node", "openai-node-stream", "partial-json"),
    *("vercel-ai", "vercel-ai-tool-call"),
)
"""those whose packages are read by `released.mjs`"""
ARGUMENTS = [json.loads(line) for line in Path(__file__).with_name("arguments.jsonl").read_text("utf-8").splitlines()]
ARGUMENTS += ["[" * 202 + "]" * 202, "[" * 201 + "]" * 201, "[" * 300]
ARGUMENTS += [f"{'[' * levels}1{']' * levels}" for levels in (200, 201)]
ARGUMENTS += [f"{opener * 201}{cut}" for opener in ("[", '{"a":') for cut in ("", " ", "1", '"a')]
"""arguments of native calls, which the SDKs treat in ways of their own"""
AGENTS = {
    "aider": "app.py:~|```python~|**b/c.md**~|<<<<<<< SEARCH~|a = 1~|=======~|b = 2~|>>>>>>> REPLACE~|```~|...~|"
    "```bash~|ls~|```x.py~|prose~|<<<<< SEARCH|~",
    "mini-swe-agent": "I look.~|```mswea_bash_command~|```mswea_bash_command |~| ~|ls -la|~```|~```~|```bash~|x~",
    "cline": "I read.~|<read_file>|~<path>|a.py|</path>~|</read_file>|<write_to_file>|<content>|x</content>y|"
    "</content>|</write_to_file>|<path> b </path>|<diff>|</diff>|<other>|<thinking>x</thinking>|<line_range>|</",
    "openhands": "</think>|<tool_call>|~|<function=|f|>|~|<parameter=|a|>1</parameter>|=b|</parameter>| x |</function>|"
    "</tool_call>|</",
    "llama-cpp-qwen3": '<think>x</think>|I look.~|<tool_call>~{"name": "f", |"arguments" :|{"a": [1, -2.5e3, true]|'
    r', "b": "x\n\u00e9 ~"|}|}|, {"name": "g", "arguments": [1]}|~</tool_call>~|'
    r'<tool_call>~{"name": "g", "arguments": {"c":| nul|1.|"|\|<think>',
    "llama-cpp-llama3": 'I look. |~|{"name": "f", |"parameters" :|{"a": [1, -2.5e3, true]|, "b": "x\n ~"|}|}|~|'
    r'{"type": "function", "name": "g", "parameters": {"c":| "\u00e9|\|1.|"|, {"name": "g", "parameters": -1}',
}
"""what the responses of coding agents, and of models for llama.cpp, are made of, with ~ for the end of a line"""
DECODED_AGAIN = ['{"a": "[1, 2]", "b": "{}", "c": "null", "d": "1", "e": "[oops"}', '["\\ud83d']
DECODED_AGAIN += [f'{{"a": {"1" * 5000}}}', "```json\n[NaN]\n```", "[" * 128 + "]" * 128, "[" * 129 + "]" * 129]
"""of which a recording shows the last decoding alone, or no place: they are held to the value only"""


HELD = sorted({*RELEASED, *TEXTUAL, *IN_NODE, *READERS, *_compiled.TEMPLATES})
"""all that are held against a release by one test; codex-apply-patch has its own"""
ALONE = ("google-adk", "litellm-tool-call", "kimi-cli", "openhands")
"""of which some files are fetched, or what a later Python runs"""


@pytest.fixture(scope="module", autouse=True)
def fetched() -> None:
    """The wheels come together: to start pip for each took more than all else here. A failure is told by the test."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with locked(FOLDER):
        fetch(release_of(name) for name in (*RELEASED, *TEXTUAL) if name not in ALONE)


def test_every_library_parser_is_held_against_its_release() -> None:
    groups = (*RESTATED, CODING, SERVERS)
    libraries = {name for name, found in profiles().items() if getattr(found, "group", "") in groups}
    assert libraries == {*HELD, "json-repair", "codex-apply-patch"}
    for name in libraries - {"json-repair"}:
        version = release_of(name)[1]
        assert re.match(rf"restated-{re.escape(version)}(?:-[0-9]+)?(?:\+|\Z)", profile(name).version)
        assert name not in READERS or READERS[name].version in (version, f"{version}.0")


def test_a_version_carries_the_libraries_that_the_profile_calls() -> None:
    for name, calls in (("dspy", "json-repair"), ("crewai", "json5"), ("llamaindex", "PyYAML")):
        assert f"+{calls}-{metadata.version(calls)}" in profile(name).version


UNSEEN = ("browser-use", "autogen")
"""what they put under "value" or into a list looks, where it is empty, like a constant that hides an error"""


@as_in_production
@pytest.mark.parametrize("name", [name for name in RELEASED if name not in UNSEEN])
def test_a_restatement_gives_the_verdict_of_the_release(name: str, shared: Path) -> None:
    """The released parser run like one of somebody's own: installing a library changes no verdict."""
    run(json.loads, "{}")  # decoders are hooked before the release binds them
    release = RELEASED[name]()
    cases = [*texts(shared)[::12], *ARGUMENTS]
    different = [text for text in cases if run(release, text).verdict != parse(text, name).verdict]
    assert different == []


def cases_of(name: str, shared: Path) -> list[str]:
    if name in READERS:
        return _servers.responses(name, 500 if READERS[name].pieces else 2_500, texts(shared))
    if name in AGENTS:
        return list(written(name, 2_000 if name in _compiled.TEMPLATES else 300))
    return [*texts(shared)[::2], *ARGUMENTS, *(DECODED_AGAIN if name in RELEASED else [])]


def theirs(name: str, cases: list[str]) -> list[str | None]:
    """What the release makes of each text: a value as canonical JSON, or None where it reads nothing."""
    if name in READERS:
        pytest.importorskip("regex")
        return [_servers.released(name, text) for text in cases]
    if name in IN_NODE:
        return [_canonical(_as_javascript(value)) if ok else None for ok, value in in_node(name, cases)]
    if name in _compiled.TEMPLATES:
        return _compiled.outcomes(name, *release_of(name), cases)
    release = {**RELEASED, **TEXTUAL}[name]()
    return [outcome(release, text) for text in cases]


def outcome(parser: Parser, text: str) -> str | None:
    """The value as canonical JSON; None where it raises or gives None or what is no JSON, by which nothing was read."""
    try:
        value = parser(text)
    except Exception:  # noqa: BLE001 — whatever it raises, it read nothing
        return None
    return None if value is None or no_json(value) else _canonical(plain(value))


def ours(name: str, text: str) -> str | None:
    """What the profile makes of a text, as `theirs`."""
    if name in READERS or name in _compiled.TEMPLATES:
        return _servers.ours(name, text)
    values = parse(text, name).values
    if name in IN_NODE:
        return _canonical(_as_javascript(values[0])) if values else None
    value = list(values) if values and profile(name).roots == "all" else next(iter(values), None)
    return None if value is None else _canonical(value)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@as_in_production
@pytest.mark.parametrize("name", HELD)
def test_a_restatement_reads_what_the_release_reads(name: str, shared: Path) -> None:
    cases = cases_of(name, shared)
    read = theirs(name, cases)
    assert [text for text, value in zip(cases, read, strict=True) if value != ours(name, text)] == []
    assert sum(value not in (None, "refused") for value in read) > 10


PATCH = (
    "*** Update File: a~ j~-k~|*** Update File: b/c d~@@~+l~|*** Add File: e~+f~|+m~|*** Delete File: g~|"
    "*** Update File: a~*** Move to: h~@@ i~-k~|@@ i~ j~+l~|+m~|-~| n~|junk~|*** Frob~|@@~|*** Update File: a~"
)
"""what patches are made of, with ~ for the end of a line, without the lines that Codex has come to read otherwise"""


def test_a_patch_is_read_as_by_codex() -> None:
    """Its crate as a library of June 2025; the program of today has 172 MB, and the benchmark runs it."""
    folder = wheel("codex-apply-patch", "0.4.0")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        read = importlib.import_module("codex_apply_patch").parse_patch
    dice, pieces, some = random.Random(SEED), PATCH.replace("~", "\n").split("|"), 0
    for _ in range(1000):
        body = "".join(dice.choice(pieces) for _ in range(dice.randint(1, 5)))
        text = f"*** Begin Patch\n{body}*** End Patch"
        try:
            release = read(text)
        except ValueError:
            release = []
        assert release == [_hunk(value) for value in parse(text, "codex-apply-patch").values], text
        some += bool(release)
    assert 100 < some < 900


def _hunk(value: dict[str, Any]) -> str:
    if value["type"] != "update":
        return f"{value['type'].title()}File: {value['path']}"
    to = f" -> {value['move_to']}" if "move_to" in value else ""
    return f"UpdateFile: {value['path']}{to} ({len(value['chunks'])} chunks)"


def in_node(name: str, cases: list[str]) -> list[tuple[bool, Any]]:
    """Whether the package's own function reads each text, and its value."""
    script = Path(__file__).with_name("released.mjs").read_text("utf-8")
    command = ["node", "--input-type=module", "--eval", script, name]
    package, version = release_of(name)
    what = f"{package}@{version}"
    folder = packed(what, *PACKED[name]) if name in PACKED else packages(what)
    done = subprocess.run(command, cwd=folder, input=json.dumps(cases), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: list[tuple[bool, Any]] = json.loads(done.stdout)
    return found


def _as_javascript(value: Any) -> Any:
    """Numbers as JavaScript has them: all are floats, and large integers lose their last digits."""
    if isinstance(value, dict):
        return {key: _as_javascript(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_javascript(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(value)]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("name", sorted(profiles()))
def test_what_was_decoded_is_what_the_edits_make(name: str, shared: Path) -> None:
    for text in texts(shared)[::6]:
        trace = parse(text, name)
        for attempt in trace.attempts:
            made = apply(text, attempt.span, attempt.edits)
            if attempt.ok:
                assert json.dumps(decode(made, strict=False).value) == json.dumps(attempt.value), (name, text)
