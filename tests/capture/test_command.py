"""Parsers in other languages: the examples in Node and Go, the hook under real libraries, and what misbehaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.capture.made import command_process
from tests.locked import locked
from webapp.capture.command import CommandProcess
from webapp.capture.process import NotStarted
from webapp.parsing import Trace, parse

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "parsers"
NPM = ROOT / ".pytest_cache" / "npm"
PACKAGES = ("ai@5.0.60", "@langchain/core@0.3.80")
Parse = Callable[..., Trace]
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node on this machine")


@pytest.fixture
def under(monkeypatch: pytest.MonkeyPatch) -> Parse:
    """The trace of a text under a command, configured as people do it, in a folder."""

    def traced(command: str, text: str, folder: Path = EXAMPLES) -> Trace:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("FENCEPOST_PROFILES", f"theirs=cmd:{command}")
        return parse(text, "theirs")

    return traced


@needs_node
def test_the_example_in_node(under: Parse) -> None:
    trace = under("node parse.cjs", 'é😀 ```json\n{"a": [1,]}\n``` bye')
    assert (trace.verdict, trace.values, trace.chosen) == ("repaired", ({"a": [1]},), (1,))
    first, second = trace.attempts
    assert first.reason is not None and first.reason.startswith("SyntaxError: Unexpected token")
    assert [(edit.repair, edit.old) for edit in second.edits] == [("removed", ",")]
    assert second.site is not None and second.site.place == "parse.cjs:13"
    assert second.site.source.startswith("return JSON.parse(inner.replace(")
    failed = under("node parse.cjs", "{nothing")
    assert (failed.verdict, [attempt.outcome for attempt in failed.attempts]) == ("failed", ["failed", "failed"])


def test_the_example_in_go(under: Parse, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("there is no Go on this machine")
    environ = {**os.environ, "GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off"}
    program = tmp_path / "my-go-parser"
    subprocess.run(["go", "build", "-o", program, EXAMPLES / "parse.go"], env=environ, check=True, timeout=300)
    trace = under("./my-go-parser", 'é: {"a": 1} bye', tmp_path)
    assert (trace.verdict, trace.values) == ("extracted", ({"a": 1},))
    broken = under("./my-go-parser", 'é: {"a": 1,} bye', tmp_path)
    (attempt,) = broken.attempts
    assert attempt.error is not None and (attempt.outcome, attempt.error.at) == ("failed", 11)


@pytest.fixture(scope="module")
def libraries() -> Path:
    """A folder with the Vercel AI SDK and LangChain.js; skipped where npm cannot have them."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("npm and node are needed to have the libraries")
    NPM.mkdir(parents=True, exist_ok=True)
    with locked(NPM):
        if not (NPM / "node_modules" / "ai").is_dir() or not (NPM / "node_modules" / "@langchain").is_dir():
            command = ["npm", "install", "--prefix", str(NPM), "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                pytest.skip(f"npm cannot have {', '.join(PACKAGES)}: {done.stderr.strip()[-200:]}")
    return NPM


SERVER = """
const hook = require({hook});
const readline = require("node:readline");
{parser}
readline.createInterface({{ input: process.stdin }}).on("line", async (line) => {{
  let answer;
  try {{ answer = {{ value: await parse(hook.parse(line).text) }} }}
  catch (error) {{ answer = {{ error: {{ type: error.name, message: error.message }} }} }}
  console.log(JSON.stringify({{ ...answer, calls: hook.taken() }}));
}});
"""
VERCEL = (
    'const { parsePartialJson } = require("ai");\nconst parse = async (text) => (await parsePartialJson(text)).value;'
)
LANGCHAIN = (
    'const { JsonOutputParser } = require("@langchain/core/output_parsers");\n'
    "const parse = (text) => new JsonOutputParser().parse(text);"
)


@pytest.mark.parametrize(
    ("parser", "text", "value", "outcomes"),
    [
        (VERCEL, '{"a": [1, 2', {"a": [1, 2]}, ["failed", "accepted"]),
        (LANGCHAIN, 'Sure:\n```json\n{"a": 1}\n```\n', {"a": 1}, ["accepted"]),
    ],
    ids=["vercel", "langchain"],
)
def test_the_hook_under_real_libraries(
    libraries: Path, under: Parse, parser: str, text: str, value: Any, outcomes: list[str], request: Any
) -> None:
    file = libraries / f"{request.node.callspec.id}.cjs"
    file.write_text(SERVER.format(hook=json.dumps(str(EXAMPLES / "hook.cjs")), parser=parser))
    trace = under(f"node {file.name}", text, libraries)
    assert [attempt.outcome for attempt in trace.attempts][-len(outcomes) :] == outcomes
    assert trace.values == (value,)
    assert all(edit.repair != "unlocated" for attempt in trace.attempts for edit in attempt.edits)


WELL = """
import json, os, sys, time
for line in sys.stdin:
    text = json.loads(line)["text"]
    print({answer}, flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., CommandProcess]]:
    made: list[CommandProcess] = []

    def write(answer: str, **options: float) -> CommandProcess:
        file = tmp_path / f"program{len(made)}.py"
        file.write_text(WELL.format(answer=answer))
        made.append(command_process(f"{sys.executable} {file.name}", folder=tmp_path, **options))
        return made[-1]

    yield write
    for process in made:
        process.close()


def test_a_value_and_an_error(program: Callable[..., CommandProcess]) -> None:
    process = program('json.dumps({"value": [text]} if text != "bad" else {"error": "no such thing"})')
    assert process.parse("x").value == ["x"]
    error = process.parse("bad").error
    assert error is not None and (error.type, error.said) == ("Error", "no such thing")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ('"not JSON"', "BadAnswer", "it answered neither"),
        ('json.dumps({"value": 1, "error": 2})', "BadAnswer", "it answered neither"),
        ('json.dumps({"value": 1, "calls": [{"no": "text"}]})', "BadAnswer", "its calls or its trace cannot be read"),
        ("sys.exit(4)", "ProcessDied", "exit code 4"),
        ("os.closerange(0, 3) or time.sleep(1) or os._exit(4)", "ProcessDied", "exit code 4"),
        ("[0 for _ in iter(int, 1)]", "TimeoutError", "took longer than 0.5 s"),
    ],
)
def test_a_program_that_misbehaves_is_an_outcome(
    program: Callable[..., CommandProcess], answer: str, kind: str, words: str
) -> None:
    error = program(answer, seconds=0.5 if kind == "TimeoutError" else 60).parse("x").error
    assert error is not None and error.type == kind and words in error.said


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of another process")
def test_its_memory_is_limited(program: Callable[..., CommandProcess]) -> None:
    error = program('len(bytearray(8 << 30)) and "x"', memory=1 << 30).parse("x").error
    assert error is not None and error.type == "ProcessDied"


def test_what_is_no_program_is_not_started(tmp_path: Path) -> None:
    for command in ("no-such-program", "./missing", "'open"):
        with pytest.raises(NotStarted):
            command_process(command, folder=tmp_path).version()


def test_the_version_follows_the_files_of_the_command(program: Callable[..., CommandProcess], tmp_path: Path) -> None:
    process = program('json.dumps({"value": 1})')
    first = process.version()
    of_a_part = CommandProcess(replace(process.spec, value="a"))
    assert first == CommandProcess(process.spec).version() != of_a_part.version()
    (tmp_path / "program0.py").write_text("changed")
    assert CommandProcess(process.spec).version() != first


def test_a_trace_of_its_own_is_taken_where_it_fits(under: Parse, tmp_path: Path) -> None:
    attempts = [
        {"strategy": "first", "span": [0, 99]},
        {"strategy": "second", "span": [1, 4], "edits": [{"span": [2, 3], "new": "7"}]},
        {"strategy": "third", "span": [0, 2], "error": {"message": "stuck", "at": 1}},
    ]
    answer = f'json.dumps({{"value": [7], "trace": {{"attempts": {attempts!r}}}}})'
    (tmp_path / "told.py").write_text(WELL.format(answer=answer))
    trace = under(f"{sys.executable} told.py", "x[1]y", tmp_path)
    first, second, third = trace.attempts
    assert first.reason is not None and "cannot be" in first.reason
    assert (trace.chosen, second.value, second.edits[0].repair) == ((1,), [7], "replaced")
    assert third.error is not None and (third.error.at, third.error.message) == (1, "stuck")
