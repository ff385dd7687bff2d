"""The tool-call readers of vLLM's engine of today, each a grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from webapp.parsing.profiles._about import SERVERS, Described, described
from webapp.parsing.profiles._grammar import Grammar, ParameterPairs


def _kimi_name(header: str) -> str:
    match = re.match(r".+:\d+", header.strip())
    return match[0].strip().partition(":")[0].removeprefix("functions.") if match else ""


_KIMI = """
text  <|tool_calls_section_begin|>  open
open between  <|tool_call_begin|>  name  (
name  <|tool_call_argument_begin|>  args
args  <|tool_call_end|>  between
args open between  <|tool_calls_section_end|>  open
"""
_GLM = """
text  <tool_call>  name  (
name  <arg_key>  args  +
name args  </tool_call>  text
"""
_QWEN3 = """
text name between  {0}  open  (
text name args between  <function=  name  (
open  <function=  name
open name between  {1}  text
name  >  args
name args  </function>  between
"""
_MINIMAX = """
text  <minimax:tool_call>  open
text open between  </minimax:tool_call>  text
text open between  <invoke name="  name  (
text open between  <invoke name='  name  (
text open between  <invoke name=  name  (
name  ">  args
name  '>  args
name  >  args
args  </invoke>  between
"""
_MISTRAL = """
text args  [TOOL_CALLS]  name  (
name  [ARGS]  args
name  {  args  +
"""
_THOUGHTS = "<think> </think>"


def _unwrapped(_: re.Match[str], text: str) -> str:
    return text.removeprefix("\n").removesuffix("\n")


def _qwen3(value: Callable[[re.Match[str], str], str], tag: str = "") -> Grammar:
    """`tag` stands before the names of the outer tags."""
    name = re.compile(r"<\s*parameter\s*=\s*([^>]*)>")
    end = re.compile(r"<\s*/\s*parameter\s*>|(?=<\s*parameter\s*=)")
    words = f"<{tag}think> </{tag}think> <parameter= </parameter>"
    return Grammar(_QWEN3.format(f"<{tag}tool_call>", f"</{tag}tool_call>"), words, ParameterPairs(name, end, value))


def _dsml(space: str, *openers: str, closer: str, thoughts: bool = True) -> Grammar:
    """DeepSeek's: what is not marked as a text is JSON, or a text where it is no JSON."""
    mark = f"｜DSML｜{space}"
    moves = [f'text open between  <{mark}invoke name="  name  (', 'name  ">  args']
    moves += [f"text between thought  <{mark}{word}>  open" for word in openers]
    moves += [f"args  </{mark}invoke>  between", f"args between  </{mark}{closer}>  between"]
    moves += ["text  <think>  thought", "thought  </think>  text"] if thoughts else []
    opener = re.compile(rf'<{mark}parameter\s+name="([^"]+)"(?:\s+string="([^"]*)")?\s*>')
    close = re.compile(rf"</{mark}parameter>|(?=<{mark}parameter\s+name=)")
    return Grammar("\n".join(moves), pairs=ParameterPairs(opener, close, _typed))


def _typed(opener: re.Match[str], text: str) -> Any:
    try:
        return text if opener[2] == "true" else json.loads(text)
    except (ValueError, RecursionError):
        return text


GLM = Grammar(
    _GLM,
    f"{_THOUGHTS} </arg_key> <arg_value> </arg_value>",
    ParameterPairs(
        re.compile("<arg_key>"),
        re.compile("</arg_value>"),
        between=re.compile(r"</arg_key>\s*<arg_value>"),
        key=str.strip,
    ),
    name=str.strip,
)
MINIMAX_M2 = Grammar(
    _MINIMAX,
    f"{_THOUGHTS} </parameter>",
    ParameterPairs(
        re.compile(r"""<\s*parameter\s+name\s*=\s*(?:"([^"]*)"|'([^']*)'|([^>\s]+))\s*>"""),
        re.compile(r"<\s*/\s*parameter\s*>|(?=<\s*parameter\s+name\s*=)"),
        key=str.strip,
        nameless=False,
    ),
)
DEEPSEEK_V32 = _dsml("", "function_calls", closer="function_calls", thoughts=False)


def _reads(name: str, grammar: Grammar, module: str, options: str = "") -> Callable[[str], Described]:
    """`options` are the names by which the server is told to read so; without them that of its module."""
    source = f"Source: vLLM 0.33, parser/{module}.py (--tool-call-parser {options or module})."
    return lambda text: described(name, SERVERS, f"{text}\n\n{source}", revision=3, roots="all")(grammar.read)


plugins = (
    _reads("vllm-kimi-k2", Grammar(_KIMI, _THOUGHTS, name=_kimi_name), "kimi_k2")("""
        vLLM's `kimi_k2` reader: an id such as functions.name:0, and arguments that go to the caller as they are.

        1. Behind <|tool_calls_section_begin|>, each <|tool_call_begin|> begins a call. 2. What stands until
        <|tool_call_argument_begin|> is its id, of which the part before the colon is the name. 3. The arguments end at
        <|tool_call_end|>, at the end of the section or of the text. They are not decoded: no JSON is shown here as a
        failure, none is {}. 4. An id without a number names nothing: the call is dropped, unless its arguments have a
        name.
    """),
    _reads("vllm-glm47", GLM, "glm47_moe", "glm45, glm47")("""
        vLLM's `glm45` and `glm47` readers: <tool_call>name, then <arg_key> and <arg_value>, whose values are texts.

        1. <tool_call> begins a call, what follows until <arg_key> or </tool_call> is its name. 2. Each
        <arg_key>…</arg_key> with an <arg_value>…</arg_value> behind it is an argument, its value a text as it stands.
        3. A value that is not closed is left out, without an error; a call that the end cuts off is given with what it
        has.
    """),
    _reads("vllm-minimax-m2", MINIMAX_M2, "minimax_m2")("""
        vLLM's `minimax_m2` reader: <invoke name="…"> with <parameter name="…">, whose values are texts.

        1. <invoke name= begins a call, also without <minimax:tool_call> round it; its name reaches to the next > and
        the quote before that. 2. Each <parameter name="…"> reaches to </parameter> or the next parameter, its value a
        text as it stands. One that is not closed is left out, without an error. 3. A call ends at </invoke> or with the
        text.
    """),
    _reads("vllm-qwen3-coder", _qwen3(_unwrapped), "qwen3", "qwen3_coder, qwen3_xml, step3p5")("""
        vLLM's `qwen3_coder` reader: <function=…> with <parameter=…>, whose values are texts.

        1. <tool_call> or <function= begins a call; what follows until > is its name. 2. Each <parameter=name> reaches
        to </parameter> or the next parameter; a line feed at both ends is cut off, and any value is a text. One that is
        not closed is left out, without an error. 3. A call ends at </function>, at the next <function=, or with the
        text.
    """),
    _reads("vllm-mimo", _qwen3(lambda _, text: text), "mimo")("""
        vLLM's `mimo` reader: as qwen3_coder, but line feeds at both ends of a value are its own.

        1. Calls are found as by qwen3_coder. 2. A value is the text between its tags, unchanged.
    """),
    _reads("vllm-seed-oss", _qwen3(_unwrapped, "seed:"), "seed_oss")("""
        vLLM's `seed_oss` reader: as qwen3_coder, in <seed:tool_call>.

        1. <seed:tool_call> or <function= begins a call. 2. All else is as with qwen3_coder.
    """),
    _reads("vllm-deepseek-v32", DEEPSEEK_V32, "deepseek_v32")("""
        vLLM's `deepseek_v32` reader: <｜DSML｜invoke name="…"> with parameters that are texts or JSON.

        1. <｜DSML｜invoke name=" begins a call, its name reaches to ">. 2. A parameter marked string="true" is a text
        as it stands; of any other json.loads gives the value, or it is a text. One that is not closed is left out,
        without an error. 3. A call ends at </｜DSML｜invoke>, with <｜DSML｜function_calls>, or with the text.
    """),
    _reads("vllm-deepseek-v4", _dsml("", "tool_calls", "toolcalls", "tool", closer="tool_calls"), "deepseek_v4")("""
        vLLM's `deepseek_v4` reader: as deepseek_v32, in <｜DSML｜tool_calls>.

        1. Calls stand in <｜DSML｜tool_calls>, also written toolcalls or tool. 2. Between <think> and </think> nothing
        but that begins one. 3. All else is as with deepseek_v32.
    """),
    _reads("vllm-deepseek-v41", _dsml(" ", "calls", closer="calls"), "deepseek_v41")("""
        vLLM's `deepseek_v41` reader: as deepseek_v4, with a space behind each ｜DSML｜.

        1. Calls stand in <｜DSML｜ calls>. 2. All else is as with deepseek_v4.
    """),
    _reads("vllm-mistral-v11", Grammar(_MISTRAL, first=True), "mistral")("""
        vLLM's `mistral` reader of today: [TOOL_CALLS]name{…}, for tokenizers from version 11 on.

        1. [TOOL_CALLS] begins a call; what follows until [ARGS] or { is its name, which may be empty. 2. Of what stands
        behind it, until the next [TOOL_CALLS], the first JSON value is the arguments; text behind that is dropped. 3.
        What does not decode goes to the caller as it is, shown here as a failure.
    """),
)
