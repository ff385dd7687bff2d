"""Native tool calls are calls: the whole call or its arguments as the value, and the tool's name in the trace."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.parsing._cases import FOLDER, read
from tests.parsing.promises import keeps_its_promises
from webapp.parsing import Trace, parse
from webapp.parsing.drawing import nodes
from webapp.parsing.edit import apply, places

FAMILIES = read(FOLDER / "calls" / "families.md")


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
def test_the_call_of_each_family_is_read_and_its_tool_is_named(case) -> None:
    trace = keeps_its_promises(case.raw)
    notes = [trace.attempts[index].note or "" for index in trace.chosen]
    assert list(trace.values) == case.values
    assert " ".join(", ".join(re.findall(r"calls ([\w., :-]+)", note)) for note in notes).replace(",", "").split() == [
        name.strip(",") for name in case.done
    ]


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
def test_a_call_that_is_cut_is_flagged_or_gives_nothing(case) -> None:
    thoughtful = "THINKING" in case.raw or "analysis" in case.raw  # a thought that is all there is may hold the answer
    for end in range(len(case.raw) if thoughtful else 1, len(case.raw)):
        trace = parse(case.raw[:end])
        assert trace.truncated or all(value in case.values for value in trace.values), case.raw[:end]


def test_each_argument_has_its_place() -> None:
    raw = "<function=f>\n<parameter=city>\nNew York\n</parameter>\n<parameter=n>3</parameter>\n</function>"
    trace = parse(raw)
    attempt = trace.attempts[trace.chosen[0]]
    mapping = places(attempt.span, attempt.edits)
    text = apply(raw, attempt.span, attempt.edits)
    spans = [mapping.raw(node.start, node.end or 0).of(raw) for node in nodes(text, 20)[0] if node.kind == "number"]
    assert spans == ["3"]
    assert "not JSON as written" in (attempt.note or "")


CODE = (
    'x = {"a": 1, "b": [2]}',
    'd = {"a": "b", "c": "d"}\nprint(d["a"])',
    'def f():\n    """Does it."""\n    return "x"',
    'def f():\n    """',
    '"""A module."""\n\nimport os\n',
    '"""A module that says "yes".\n',
    'data = b""',
    'if s == "" {\n\treturn ""',
    'self.write(" ", *buffer)\nself.write(": ")',
    '    "a",\n    "b",',
    'import x from "y";',
    'console.log("a", {"b": 1});\nalert("c");',
    'printf("%d\\n", x);\nputs("done");',
    'http.Cookie{Name: "c", Value: "v"}',
    'x := map[string]int{"a": 1, "b": 2}',
    'git commit -m "fix: a, b" && echo "done"',
    'curl -H "Accept: text/html" -d \'{"a": "b"}\' http://localhost',
    'python -c "import json; print(json.dumps({"a": 1}))"',
    '# It says "a."\n# Then "b" c',
    'SELECT "a", "b" FROM t WHERE c = "d"',
    '<a href="x" class="y">z</a>',
)


def _plain(text: str) -> str:
    """`text` as it stands between a JSON string's quotes, but for its own quotes, which stay as they are."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')


SHAPES: tuple[tuple[str, Any], ...] = (
    ('{"tool": "run_code", "code": "%s"}', lambda code: {"tool": "run_code", "code": code}),
    ('{"code": "%s", "timeout": 30}', lambda code: {"code": code, "timeout": 30}),
    ('{"name": "w", "arguments": {"text": "%s"}}', lambda code: {"name": "w", "arguments": {"text": code}}),
    (
        '{"arguments": {"text": "%s", "path": "a.py"}, "name": "w"}',
        lambda code: {"arguments": {"text": code, "path": "a.py"}, "name": "w"},
    ),
    ('Sure:\n```json\n{\n  "code": "%s",\n  "lang": "py"\n}\n```', lambda code: {"code": code, "lang": "py"}),
)


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("code", CODE)
def test_the_whole_code_is_read(code: str, shape: int) -> None:
    template, expected = SHAPES[shape]
    raw = template.replace("%s", _plain(code))
    assert list(parse(raw).values) == [expected(code)], raw


CALLS = {
    "glm": "<tool_call>look\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>",
    "glm of two": "<tool_call>look\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>n</arg_key>"
    "\n<arg_value>5</arg_value>\n</tool_call>",
    "qwen": "<tool_call>\n<function=look>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
    "hermes": '<tool_call>\n{"name": "look", "arguments": {"city": "Paris"}}\n</tool_call>',
    "mistral": '[TOOL_CALLS][{"name": "look", "arguments": {"city": "Paris"}}]',
    "mistral by name": '[TOOL_CALLS]look[ARGS]{"city": "Paris"}',
    "llama": '<|python_tag|>{"name": "look", "parameters": {"city": "Paris"}}<|eom_id|>',
    "llama function": '<function=look>{"city": "Paris"}</function>',
    "anthropic": '<function_calls>\n<invoke name="look">\n<parameter name="city">Paris</parameter>\n</invoke>\n'
    "</function_calls>",
    "deepseek": '<｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{"city": "Paris"}\n```<｜tool▁call▁end｜>',
    "kimi": '<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|>',
}
TAG = re.compile(r"</?[a-z_]+[^<>]*>|<[|｜][^<>]*>|\[[A-Z_]+\]")


def without_one(text: str) -> list[str]:
    """The text without each of its tags, from behind each on, and up to each."""
    tags = list(TAG.finditer(text))
    return [
        *(text[: tag.start()] + text[tag.end() :] for tag in tags),
        *(text[tag.end() :] for tag in tags[:-1]),
        *(text[: tag.start()] for tag in tags[1:]),
    ]


def named(trace: Trace) -> list[str]:
    return [attempt.reason or "" for attempt in trace.attempts[1:] if attempt.outcome != "accepted"]


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_call_without_one_of_its_tags_is_read_or_named(text: str) -> None:
    for raw in without_one(text):
        trace = keeps_its_promises(raw)
        assert trace.values or named(trace) or not TAG.search(raw), raw


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_no_other_value_is_taken(text: str) -> None:
    whole = {"city": "Paris"}
    for raw in without_one(text):
        for value in parse(raw).values:
            call = value[0] if isinstance(value, list) else value
            arguments = call.get("arguments", call.get("parameters", call))
            arguments = {key: value.strip() if isinstance(value, str) else value for key, value in arguments.items()}
            assert arguments in ({}, whole, whole | {"n": 5}, {"n": 5}), (raw, value)


def test_what_is_lost_with_the_opening_tag_is_said() -> None:
    trace = parse("<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>")
    assert trace.verdict == "failed"
    assert (trace.attempts[1].span.start, trace.attempts[1].reason) == (
        0,
        "the call of an unknown tool cannot be read: its opening tag is missing, and with it the name of its tool",
    )
    for left in ("It is done.</tool_call>", "<longcat_tool_call>f</longcat_tool_call>", '<｜DSML｜invoke name="f"/>'):
        assert "a tag of a tool call" in (parse(left).attempts[1].reason or "")


def test_an_expression_is_no_value() -> None:
    assert parse("<|tool_call_start|>[f(a=1+2)]<|tool_call_end|>").verdict == "failed"


def test_a_call_without_its_opening_tag_is_marked() -> None:
    trace = parse("look\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>")
    assert trace.ambiguous and not trace.truncated
    edits = trace.attempts[trace.chosen[0]].edits
    assert (edits[0].repair, edits[0].span.start, edits[0].new) == ("missing_opener", 0, '{"name": "')
