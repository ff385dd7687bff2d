"""The arguments of native calls, as SDKs and agents' programs read them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from webapp.parsing.decode import BRACKETS, CLOSERS
from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import ARGUMENTS, Described, described
from webapp.parsing.profiles._arriving import by_jiter, by_tokens
from webapp.parsing.profiles._steps import WHITE, Step, choose_if_ok, decode_other, empty, escapes, loads, made, whole
from webapp.parsing.profiles.partial_json import by_partial_json, no_prototype


def _closed(tracer: Tracer) -> bool:
    """White space and commas at the end go, closers of the brackets that are open outside of strings come."""
    raw = tracer.raw
    stack: list[str] = []
    for match in BRACKETS.finditer(raw):
        if closer := CLOSERS.get(match[0]):
            stack.append(closer)
        elif stack[-1:] == [match[0]]:
            stack.pop()
    if not stack:
        return False
    end = len(raw.rstrip().rstrip(","))
    edit = Edit("missing_closer", Span(end, len(raw)), raw[end:], "".join(reversed(stack)))
    tracer.truncated = choose_if_ok(tracer, tracer.attempt("whole", whole(raw), [edit]))
    return tracer.truncated


def _pre_parsed(value: Any) -> Any:
    decoded = {key: _decoded(item) for key, item in value.items()} if isinstance(value, dict) else value
    return value if decoded == value else decoded


def _decoded(item: Any) -> Any:
    try:
        value = json.loads(item) if isinstance(item, str) else item
    except (ValueError, RecursionError):
        return item
    return item if isinstance(value, str | int | float) else value


def _refuse_empty(tracer: Tracer) -> bool:
    if not tracer.raw:
        tracer.reject("whole", whole(tracer.raw), "no text: there are no arguments")
    return not tracer.raw


_QUOTED = loads((re.compile(r"(?<!\\)'"), '"'), (re.compile(r"\\'"), "'"))
_SEMANTIC_KERNEL = (_refuse_empty, loads(), lambda tracer: escapes(tracer.attempts[-1]), _QUOTED)
_LANGCHAIN = made(lambda value: value or {}, "what Python counts as false is made {}", strict=False)
_OBJECT = loads(check=lambda value: "" if isinstance(value, dict) else "ModelBehaviorError: expected a JSON object")
_BROWSER_USE = made(lambda value: value if isinstance(value, dict) else {"value": value}, 'put under "value"')
_MCP = made(_pre_parsed, "texts among the arguments that are JSON are decoded")
_SPACE = f"[{WHITE}]"
_KEY = r"[a-zA-Z_$][a-zA-Z0-9_$]*"
_TRIM = re.compile(rf"\A{_SPACE}+|(?<!{_SPACE}){_SPACE}++\Z"), ""
_TOKENS = re.compile(rf"<\|[^|]*\|>{_SPACE}*"), ""
_MENDED = (
    _TOKENS,
    _TRIM,
    (re.compile(rf'([{{,]{_SPACE}*)({_KEY})"'), r'\1"\2"'),
    (re.compile(rf"([{{,]{_SPACE}*)({_KEY}){_SPACE}*:"), r'\1"\2":'),
    (re.compile("'"), '"'),
    (re.compile(rf",({_SPACE}*[}}\]])"), r"\1"),
    (re.compile(rf":{_SPACE}*([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:T[0-9:]+)?){_SPACE}*([,}}])"), r': "\1"\2'),
)


_NO_INPUT = "a value that counts as false: no input"
_MASTRA = (
    loads(finite=True),
    loads(_TOKENS, _TRIM, finite=True),
    loads(*_MENDED, check=lambda value: _NO_INPUT if value in (None, 0, "") else "", finite=True),
)


_BARE_KEYS = re.compile(r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|[{,]\s*([A-Za-z_][A-Za-z0-9_]*)(?=\s*:)""", re.DOTALL)
_CAUGHT_BY_ADK = ("SyntaxError", "IndentationError", "TabError", "ValueError", "UnicodeEncodeError")


def _adk(tracer: Tracer) -> bool:
    """Reads all, and what a fence holds, each as it is and with its bare keys quoted, until one decides."""
    raw = tracer.raw
    for strategy, span in (("whole", whole(raw)), ("fenced", _fenced(raw))):
        if span and _decided_by_adk(tracer, strategy, span, []):
            return True
        if span and (edits := _quoted_keys(raw, span)) and _decided_by_adk(tracer, strategy, span, edits):
            return True
    return False


def _fenced(raw: str) -> Span | None:
    """What is between three ticks at both ends, less a word json in front, where that is anything."""
    start, end = stripped(raw)
    if end - start < 6 or not (raw.startswith("```", start, end) and raw.endswith("```", start, end)):
        return None
    span = stripped(raw, start + 3, end - 3)
    if raw[span.start : min(span.end, span.start + 4)].lower() == "json":
        span = stripped(raw, span.start + 4, span.end)
    return span if span.start < span.end else None


def _quoted_keys(raw: str, span: Span) -> list[Edit]:
    """The edits that put quotes round bare keys behind { or a comma, outside of strings."""
    matches = (match for match in _BARE_KEYS.finditer(raw, *span) if match[1])
    return [Edit("unquoted_key", Span(*match.span(1)), match[1], f'"{match[1]}"') for match in matches]


def _decided_by_adk(tracer: Tracer, strategy: str, span: Span, edits: Sequence[Edit]) -> bool:
    """JSON, else a Python literal; decided too where an error escapes that the original does not catch."""
    attempt = tracer.attempt(strategy, span, edits)
    if escapes(attempt):
        return True
    if not attempt.ok:
        attempt = decode_other(tracer, "literal", span, "read as a Python literal", edits)
    return choose_if_ok(tracer, attempt) or not (attempt.reason or "").startswith(_CAUGHT_BY_ADK)


def _arguments(name: str, *steps: Step, **fields: Any) -> Callable[[str], Described]:
    """A profile that tries each step in turn, until one has decided; of a text that says what it does."""

    def parser(tracer: Tracer) -> None:
        any(step(tracer) for step in steps)

    return lambda text: described(name, ARGUMENTS, text, **fields)(parser)


plugins = (
    _arguments("openai-python", loads())("""
        openai-python: the arguments of a strict tool by one json.loads; `parse` reads them, other helpers leave a text.

        Reads a native call's arguments in chat.completions.parse. 1. json.loads of the whole text, once: no text is an
        error, any JSON passes. A tool that is not strict keeps its text; a pydantic model's check is not known.

        Source: openai 3.57.0, openai/lib/_parsing/_completions.py, parse_function_tool_arguments.
    """),
    _arguments("openai-python-stream", by_jiter(), revision=2)("""
        openai-python while arguments stream in: jiter's partial mode, where a string at the cut end is left out.

        Reads what has arrived of a strict tool's arguments (`parsed_arguments` of chat.completions.stream). 1. jiter in
        partial mode: what is cut off at the end is left out with its key, lists and objects are closed. 2. What stands
        behind the first value is ignored; so is all behind an item that no comma or closer follows. 3. Any other error
        ends the stream with a ValueError. The text is read as if it had come in one piece.

        Source: openai 3.57.0, openai/lib/streaming/chat/_completions.py, and jiter 0.19.0.
    """),
    _arguments("openai-node", loads(finite=True), original="TypeScript")("""
        openai-node: the arguments of a strict tool by one JSON.parse; those of other tools stay a text.

        Reads a native call's arguments in chat.completions.parse. 1. JSON.parse of the whole text, once: no text is an
        error, any JSON passes. A parser of the tool's own, such as zodFunction's, is not known here.

        Source: openai 7.59.0 (npm), lib/parser.js, parseChatCompletion.
    """),
    _arguments("openai-node-stream", by_partial_json(numbers=False), original="TypeScript")("""
        openai-node while arguments stream in: what is cut off is completed, a number at the cut end left out.

        Reads what has arrived of a strict tool's arguments (chat.completions.stream): partial-json in the SDK's own
        copy. 1. At the end of the text strings are closed, words completed, lists and objects given as far as they go;
        a number is left out, since more digits may follow. 2. The same happens at anything that is no JSON, without an
        error. 3. What stands behind the value is ignored. The finished call goes to JSON.parse.

        Source: openai 7.59.0 (npm), _vendor/partial-json-parser/parser.js, partialParse. Nested more than 300 deep is
        not read.
    """),
    _arguments("openai-agents", empty(), _OBJECT, revision=2)("""
        OpenAI Agents SDK: the arguments of a function tool must be one JSON object; no text stands for none.

        Reads the arguments of a native call. 1. No text is {}. 2. json.loads of the whole text, once. 3. A value that
        is no object is refused. Nothing is repaired; the tool's own schema is not known here.

        Source: openai-agents 0.24.0, agents/tool.py, _parse_function_tool_json_input.
    """),
    _arguments("openai-agents-partial", by_jiter(strings=True), revision=2)("""
        OpenAI Agents SDK's `validate_json` of a part: jiter in Rust, where a string at the cut end is kept.

        Reads an output that has come in part. 1. What is cut off at the end is left out with its key, but for a string,
        which is kept as far as it came; lists and objects are closed. 2. What stands behind the first value is ignored;
        so is all behind an item that no comma or closer follows. 3. Any other error is a ModelBehaviorError. The output
        type is not known here.

        Source: openai-agents 0.24.0, agents/util/_json.py, validate_json with partial=True, and pydantic's
        "trailing-strings".
    """),
    _arguments("anthropic-python", empty(), by_jiter(), revision=2)("""
        Anthropic's Python SDK: a tool's input as it streams in, by jiter's partial mode; nothing becomes {}.

        Reads the input of a native call that streams in. 1. No text leaves the {} with which a call begins. 2. jiter in
        partial mode: what is cut off at the end is left out with its key, lists and objects are closed, so an input
        that max_tokens cut off looks whole. 3. What stands behind the first value is ignored. 4. Any other error is a
        ValueError. The text is read as if it came in one piece; without a stream an input comes decoded.

        Source: anthropic 2.14.0, anthropic/lib/streaming/_messages.py, accumulate_event, and jiter 0.19.0.
    """),
    _arguments("anthropic-node", empty(), by_tokens, original="TypeScript")("""
        Anthropic's TypeScript SDK: a tool's input as it streams in, closed where it is cut off; nothing becomes {}.

        Reads the input of a native call that streams in. 1. No text is {}. 2. At the end of the text a string, word or
        number that is cut off goes, with its key, and so does a number that ends there; lists and objects are closed,
        so an input that max_tokens cut off looks whole. 3. JSON.parse. Where anything but tokens of JSON stands in it,
        or a closer does not match, JSON.parse of the text as it is. Without a stream an input comes decoded.

        Source: @anthropic-ai/sdk 1.14.0 (npm), _vendor/partial-json-parser/parser.js, partialParse, as MessageStream
        reads it.
    """),
    _arguments("langchain-tool-call", empty(), _LANGCHAIN, revision=2)("""
        LangChain's `parse_tool_call`: arguments of a native call, raw line feeds in strings allowed; nothing becomes
        {}.

        Reads the arguments of a native call. 1. No text is {}. 2. json.loads with strict=False: raw line feeds and tabs
        in strings pass. 3. null, false, 0, an empty text and an empty list are made {}. Anything else that decodes is
        passed on, lists too. Nothing is repaired: what does not decode becomes an invalid tool call.

        Source: langchain-core 1.8.4, langchain_core/output_parsers/openai_tools.py, parse_tool_call.
    """),
    _arguments("litellm-tool-call", empty(None), loads(), _closed)("""
        LiteLLM's `parse_tool_call_arguments`: JSON, else with open brackets closed; blank becomes {}.

        Reads the arguments of a call that LiteLLM passes on to Anthropic or Bedrock. 1. White space alone, or nothing,
        is {}. 2. json.loads. 3. Else commas at the end are cut off, brackets that are open outside of strings are
        closed, and json.loads once more: a text cut off inside a string stays an error.

        Source: litellm 1.110.2, litellm/litellm_core_utils/prompt_templates/tool_call_json_repair.py,
        parse_tool_call_arguments.
    """),
    _arguments("mcp-python", _MCP)("""
        MCP Python SDK: texts among a tool's arguments that are JSON of a list, an object, or null are decoded once
        more.

        Reads the arguments that a server built with MCPServer (FastMCP) is called with. 1. json.loads. 2. Each argument
        that is a text goes to json.loads; where that gives a list, an object or null, it takes the text's place.
        Numbers, true and false in a text stay text. In fact only parameters that are not annotated as str: the tool's
        signature is not known here, and all are taken for such.

        Source: mcp 2.3.0, mcp/server/mcpserver/utilities/func_metadata.py, pre_parse_json.
    """),
    _arguments("vercel-ai-tool-call", empty(WHITE), loads(check=no_prototype, finite=True), original="TypeScript")("""
        The Vercel AI SDK's tool calls: JSON.parse of the input, blank input as {}, keys of prototypes refused.

        Reads the input of a native call. 1. White space alone, or nothing, is {}. 2. JSON.parse of the whole, once. 3.
        A key __proto__, or constructor with prototype in it, is refused at any depth. What fails becomes an invalid
        tool call; a repairToolCall of the program's own and the tool's schema are not known here.

        Source: ai 7.0.173, src/generate-text/parse-tool-call.ts, and @ai-sdk/provider-utils, secure-json-parse.ts.
    """),
    _arguments("semantic-kernel", *_SEMANTIC_KERNEL, revision=2)(r"""
        Semantic Kernel's `parse_arguments`: json.loads, else once more with single quotes made double.

        Reads the arguments of a native call. 1. No text is None: no arguments. 2. json.loads. 3. Else ' becomes ", also
        inside of strings, and \' becomes '; json.loads once more.

        Source: semantic-kernel 1.45.0, semantic_kernel/contents/function_call_content.py, parse_arguments.
    """),
    _arguments("google-adk", empty(), _adk, revision=2)("""
        Google ADK over LiteLLM: JSON, else a Python literal, else with bare keys quoted, else without its fence.

        Reads the arguments of a native call of a model that LiteLLM serves. 1. No text is {}. 2. json.loads, else
        ast.literal_eval. 3. Both again with quotes round bare keys. 4. Of a text that begins and ends with ```, both
        again over what is between, less a word json, and once more with quotes round bare keys. Gemini's own calls come
        decoded and pass through no parser.

        Source: google-adk 2.13.0, google/adk/models/lite_llm.py, _parse_tool_call_arguments.
    """),
    _arguments("kimi-cli", empty(), loads(strict=False))("""
        Kimi CLI (kosong): the arguments of a tool call by json.loads, raw line feeds in strings allowed; nothing is {}.

        Reads the arguments of a native call. 1. No text is {}. 2. json.loads with strict=False, once. A list is
        unpacked into positional arguments; the tool's schema is not known here.

        Source: kosong 0.56.0, kosong/tooling/simple.py, SimpleToolset.handle; kimi-cli 1.52.0 calls it.
    """),
    _arguments("browser-use", _BROWSER_USE)("""
        browser-use: the arguments of a tool call as an object; anything else becomes {"value": …}, also what is no
        JSON.

        Reads the arguments of a native call. 1. json.loads of the whole text. 2. A value that is no object is put under
        "value". 3. So is the text itself where it is no JSON: no error is told, and a cut-off object arrives as a text,
        which is shown here as a failure.

        Source: browser-use 0.13.14, browser_use/beta/service.py, _tool_arguments.
    """),
    _arguments("mastra", _refuse_empty, *_MASTRA, original="TypeScript", revision=2)("""
        Mastra's tool calls: JSON.parse, again without <|…|> tokens, then with keys and quotes mended by patterns.

        Reads the input of a native call. 1. JSON.parse. 2. Else without tokens such as <|call|>, and white space round
        the text, once more. 3. Else, in this order: the quote before a key is added, bare keys get quotes, every '
        becomes ", trailing commas go, bare dates become texts; the same inside of strings. JSON.parse. 4. After these,
        null, false, 0 and an empty text count as failed: the tool is called with no input.

        Source: @mastra/core 1.71.0 (npm), convertFullStreamChunkToMastra, sanitizeToolCallInput and tryRepairJson.
    """),
)
