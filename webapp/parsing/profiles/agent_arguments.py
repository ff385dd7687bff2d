"""The arguments of native calls as agents' programs read them."""

from __future__ import annotations

import re

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import described, restated
from webapp.parsing.profiles._arguments import empty, loads, made, read_by
from webapp.parsing.profiles._cutting import whole
from webapp.parsing.profiles._jiter import partial
from webapp.parsing.profiles._rewrites import substituted
from webapp.parsing.profiles.four_tier import WHITE


def _refuse_empty(tracer: Tracer) -> bool:
    if not tracer.raw:
        tracer.reject("whole", whole(tracer.raw), "no text: there are no arguments")
    return not tracer.raw


def _other_error(tracer: Tracer) -> bool:
    """Whether the last attempt failed with an error that the original does not catch."""
    error = tracer.attempts[-1].error
    return error is not None and error.type != "JSONDecodeError"


@described("kimi-cli", ARGUMENTS, version=restated("0.56.0"))
def kimi_cli(tracer: Tracer) -> None:
    """Kimi CLI (kosong): the arguments of a tool call by json.loads, raw line feeds in strings allowed; nothing is {}.

    Reads the arguments of a native call. 1. No text is {}. 2. json.loads with strict=False, once. A list is unpacked
    into positional arguments; the tool's schema is not known here.

    Source: kosong 0.56.0, kosong/tooling/simple.py, SimpleToolset.handle; kimi-cli 1.52.0 calls it.
    """
    read_by(tracer, empty(), loads(strict=False))


@described("semantic-kernel", ARGUMENTS, version=restated("1.45.0"))
def semantic_kernel(tracer: Tracer) -> None:
    r"""Semantic Kernel's `parse_arguments`: json.loads, else once more with single quotes made double.

    Reads the arguments of a native call. 1. No text is None: no arguments. 2. json.loads. 3. Else ' becomes ", also
    inside of strings, and \' becomes '; json.loads once more.

    Source: semantic-kernel 1.45.0, semantic_kernel/contents/function_call_content.py, parse_arguments.
    """
    quotes = (re.compile(r"(?<!\\)'"), '"'), (re.compile(r"\\'"), "'")
    read_by(tracer, _refuse_empty, loads(), _other_error, substituted(whole, *quotes))


@described("browser-use", ARGUMENTS, version=restated("0.13.14"))
def browser_use(tracer: Tracer) -> None:
    """browser-use: the arguments of a tool call as an object; anything else becomes {"value": …}, also what is no JSON.

    Reads the arguments of a native call. 1. json.loads of the whole text. 2. A value that is no object is put under
    "value". 3. So is the text itself where it is no JSON: no error is told, and a cut-off object arrives as a text,
    which is shown here as a failure.

    Source: browser-use 0.13.14, browser_use/beta/service.py, _tool_arguments.
    """
    read_by(tracer, made(lambda value: value if isinstance(value, dict) else {"value": value}, 'put under "value"'))


@described("openai-agents-partial", ARGUMENTS, version=restated("0.24.0"))
def openai_agents_partial(tracer: Tracer) -> None:
    """OpenAI Agents SDK's `validate_json` of a part: jiter in Rust, where a string at the cut end is kept.

    Reads an output that has come in part. 1. What is cut off at the end is left out with its key, but for a string,
    which is kept as far as it came; lists and objects are closed. 2. What stands behind the first value is ignored; so
    is all behind an item that no comma or closer follows. 3. Any other error is a ModelBehaviorError. The output type
    is not known here.

    Source: openai-agents 0.24.0, agents/util/_json.py, validate_json with partial=True, and pydantic's
    "trailing-strings".
    """
    partial(tracer, strings=True)


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


@described("mastra", ARGUMENTS, version="restated-1.71.0", original="TypeScript")
def mastra(tracer: Tracer) -> None:
    """Mastra's tool calls: JSON.parse, again without <|…|> tokens, then with keys and quotes mended by patterns.

    Reads the input of a native call. 1. JSON.parse. 2. Else without tokens such as <|call|>, and white space round the
    text, once more. 3. Else, in this order: the quote before a key is added, bare keys get quotes, every ' becomes ",
    trailing commas go, bare dates become texts; the same inside of strings. JSON.parse. 4. After these, null, false, 0
    and an empty text count as failed: the tool is called with no input.

    Source: @mastra/core 1.71.0 (npm), convertFullStreamChunkToMastra, sanitizeToolCallInput and tryRepairJson. Here
    Python's decoder words the errors, and large integers stay exact.
    """
    read_by(
        tracer,
        _refuse_empty,
        loads(finite=True),
        substituted(whole, _TOKENS, _TRIM, finite=True),
        substituted(whole, *_MENDED, finite=True),
    )
    chosen = tracer.attempts[-1]
    if len(tracer.attempts) == 3 and chosen.ok and (chosen.value is False or chosen.value in (None, 0, "")):
        tracer.chosen.clear()
        tracer.offered = True
        tracer.amend(chosen, outcome="failed", reason="a value that counts as false: no input")


plugins = (browser_use, kimi_cli, mastra, openai_agents_partial, semantic_kernel)
