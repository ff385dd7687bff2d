"""The readers of vLLM's engine as we restate them against its own, which is run out of its wheel with stand-ins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.parsing.profiles import _engine
from tests.parsing.profiles._released import in_pieces
from webapp.parsing import parse
from webapp.parsing.engine import profile

SEED = 20261126
READERS = {
    "vllm-kimi-k2": "KimiK2",
    "vllm-glm47": "Glm47Moe",
    "vllm-minimax-m2": "MinimaxM2",
    "vllm-qwen3-coder": "Qwen3",
    "vllm-mimo": "MiMo",
    "vllm-seed-oss": "SeedOss",
    "vllm-deepseek-v32": "DeepSeekV32",
    "vllm-deepseek-v4": "DeepSeekV4",
    "vllm-deepseek-v41": "DeepSeekV41",
    "vllm-mistral-v11": "Mistral",
}
PIECES = {
    "vllm-kimi-k2": """<|tool_calls_section_begin|> <|tool_call_begin|> functions.f:0 g:1 <|tool_call_argument_begin|>
        {"a":1} {"name":"x:3"} {"name":"y","arguments":{"b":[1]}} <|tool_call_end|> <|tool_calls_section_end|> f""",
    "vllm-glm47": """<tool_call> f ~ <arg_key> x </arg_key> ~ <arg_value> 1 "name":"y" </arg_value> <arg_key> y
        </tool_call> </think>""",
    "vllm-minimax-m2": """<minimax:tool_call> <invoke~name=" <invoke~name=' <invoke~name= f g "> '> > v 1
        <parameter~name="x"> <parameter~name=y> </parameter> </invoke> </minimax:tool_call> ~ "name":"y" </think>""",
    "vllm-qwen3-coder": """<tool_call> <function= f > ~ <parameter= x > 1 ~ </parameter> </function> </tool_call>
        <~parameter~=~y~> "name":"y" <think>""",
    "vllm-deepseek": """<^function_calls> <^tool_calls> <^tool> <^~calls> <^invoke~name=" <^~invoke~name=" f "> \\ud800
        <^parameter~name="x"~string="true"> <^parameter~name="y"> <^~parameter~name="y"~string="false"> 1 [1] oops
        </^parameter> </^~parameter> </^invoke> </^~invoke> </^tool_calls> </^function_calls> </^~calls> <think>""",
    "vllm-mistral": """[TOOL_CALLS] f ~g [ARGS] {"a":1} {"name":"x","b":{}} ~bye { } " """,
}


def responses(name: str, most: int) -> Iterator[str]:
    """What a model may write for this reader."""
    key = "vllm-qwen3-coder" if name in ("vllm-mimo", "vllm-seed-oss") else name
    words = PIECES.get(key) or PIECES[name.rpartition("-")[0]]
    pieces = [word.replace("~", "\n" if word == "~" else " ").replace("^", "｜DSML｜") for word in words.split()]
    seed = [piece.replace("tool_call>", "seed:tool_call>") for piece in pieces] if "seed" in name else pieces
    yield from in_pieces(seed, most, SEED)


def released(text: str, name: str) -> Any:
    """The calls of a text with their arguments as texts; None where there are none, or in words that it is refused."""
    try:
        calls = _engine.reader(_engine.adapters(), f"{READERS[name]}ParserToolAdapter")(text)
    except (UnicodeEncodeError, TypeError):
        return "refused"
    return [list(call) for call in calls] if calls else None


def ours(text: str, name: str) -> Any:
    trace = parse(text, name)
    if any("ValidationError" in (attempt.reason or "") for attempt in trace.attempts):
        return "refused"
    calls = []
    for attempt in trace.attempts:
        _, calling, tool = (attempt.note or "").partition("calls ")
        if calling and not attempt.reason:
            derived = attempt.strategy == "derived"
            arguments = json.dumps(attempt.value["arguments"], ensure_ascii=False) if derived else attempt.span.of(text)
            calls.append([tool, arguments])
    return calls or None


@pytest.mark.parametrize("name", READERS)
def test_a_restatement_reads_what_the_engine_reads(name: str) -> None:
    pytest.importorskip("regex")
    texts = list(responses(name, 400))
    read = [released(text, name) for text in texts]
    assert profile(name).version == "restated-0.33"
    assert [text for text, calls in zip(texts, read, strict=True) if calls != ours(text, name)] == []
    assert sum(isinstance(calls, list) for calls in read) > 25
