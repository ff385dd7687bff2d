"""`fencepost parse`: the trace as JSON and drawn, bulk lines, exit codes, hostile bytes, and what it may import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests import forking
from webapp.cli import main
from webapp.parsing import parse, profiles
from webapp.parsing.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
CALL = (
    'Here\'s my tool call:\n\n```json\n{"tool": "run_code", "arguments": {"code": "print(\'hello\')"}}}}\n```\n\nBye.\n'
)


def run(*arguments: str, text: str | bytes = CALL) -> Result:
    return CliRunner().invoke(main, ["parse", *arguments], input=text)


def test_json_is_the_trace_and_nothing_else():
    result = run("--json", "--profile", "windlass-balanced")
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert document | {"microseconds": 0} == parse(CALL, "windlass-balanced").as_dict() | {"microseconds": 0}
    assert list(document)[:4] == ["profile", "version", "verdict", "truncated"]
    assert Trace.from_dict(document).values[0]["tool"] == "run_code"


def test_a_file_is_read_as_standard_input_is(tmp_path: Path):
    path = tmp_path / "response.txt"
    path.write_bytes(CALL.encode())
    from_file = json.loads(run("--json", "--profile", "four-tier", str(path)).stdout)
    from_input = json.loads(run("--json", "--profile", "four-tier", "-").stdout)
    assert from_file | {"microseconds": 0} == from_input | {"microseconds": 0}


def test_json_holds_no_number_that_json_has_not():
    document = run("--json", "--profile", "direct", text='{"a": NaN}').stdout
    assert "$fencepost:float" in document
    json.loads(document, parse_constant=pytest.fail)


def test_the_part_that_is_the_value_is_named_for_an_own_parser():
    own = f"{ROOT}/tests/capture/own_parsers.py:gives_an_object"
    assert json.loads(run("--json", "--profile", own, text="[1]").stdout)["verdict"] == "failed"
    named = run("--json", "--profile", f"part={own} --value data", text="[1]")
    assert json.loads(named.stdout)["values"] == [[1]]


def test_line_ends_are_kept():
    document = json.loads(run("--json", "--profile", "direct", text=b'{"a":\r\n1}\r\n').stdout)
    assert document["attempts"][0]["span"] == [0, 11]


@pytest.mark.parametrize(
    ("text", "profile", "code"),
    [("{}", "direct", 0), ("no", "direct", 1), ("no", "windlass-strict", 1), ("no", "all", 1), ("{}", "all", 0)],
)
def test_the_answer_is_the_exit_code(text: str, profile: str, code: int):
    assert run("--profile", profile, text=text).exit_code == code
    assert run("--profile", profile, "--json", text=text).exit_code == code


def test_an_unknown_profile_lists_those_there_are():
    result = run("--profile", "nope")
    assert result.exit_code == 2
    assert "no profile is called 'nope'; there are " in result.stderr
    assert "windlass-balanced" in result.stderr


@pytest.mark.parametrize(("name", "words"), [("missing.txt", "No such file"), (".", "Is a directory")])
def test_what_cannot_be_read_is_wrong_use(name: str, words: str):
    result = run("--profile", "direct", name)
    assert result.exit_code == 2
    assert words in result.stderr


def test_bytes_that_are_not_utf_8_are_replaced_and_said():
    result = run("--json", "--profile", "direct", text=b'{"a": "\xff\xfe"}')
    assert json.loads(result.stdout)["values"] == [{"a": "\ufffd\ufffd"}]
    assert "standard input is not UTF-8 at byte 7: such bytes are shown as U+FFFD" in result.stderr


def test_drawn_with_marks_that_need_no_colour():
    result = run("--profile", "windlass-balanced")
    lines = result.stdout.split("\n")
    assert lines[0].startswith(
        "◆ repaired: a value was read from text that is not JSON, by windlass-balanced 2. 1 value, 1 edit, 2 attempts, "
    )
    assert '4 ┃ ⟦{"tool": "run_code", "arguments": {"code": "print(\'hello\')"}}[-}}-]⟧' in lines
    assert "5 │ ```" in lines
    assert '     extra_closer at line 4, column 62: removes "}}"' in lines
    assert '  "tool": "run_code",' in lines


def test_the_caret_stands_under_the_error():
    lines = run("--profile", "windlass-balanced").stdout.split("\n")
    at = next(index for index, line in enumerate(lines) if "▲ Extra data" in line)
    assert lines[at - 1][lines[at].index("▲") :] == "}}"
    assert any(line.endswith(": Extra data at line 4, column 62, offset 91.") for line in lines)
    assert "JSONDecodeError: Extra data: line 1 column 62 (char 61)" in lines[at + 1]


def test_the_caret_minds_wide_characters():
    lines = run("--profile", "direct", text='{"名前": nope}').stdout.split("\n")
    at = next(index for index, line in enumerate(lines) if "▲ " in line)
    before = lines[at - 1][: lines[at - 1].index("nope")]
    assert lines[at].index("▲") == len(before) + 2


def test_an_escaped_line_feed_is_drawn_in_place():
    lines = run("--profile", "four-tier", text='{"a": "x\ny"}').stdout.split("\n")
    assert '1 ┃ ⟦{"a": "x[-↵-]{+\\n+}' in lines
    assert '2 ┃ y"}⟧' in lines


def test_terminal_controls_never_reach_the_terminal():
    result = run("--profile", "direct", text='\x1b[31m\u202e\x07{"a": "\x9b"}\x00 \ud7ff')
    assert not set(result.stdout) & set("\x1b\u202e\x07\x9b\x00")
    assert "␛[31m⟨U+202E⟩␇" in result.stdout
    assert "⟨U+009B⟩" in result.stdout


def test_long_texts_are_cut_and_say_so():
    raw = "\n".join(f"line {number}" for number in range(500)) + '\n{"a": 1}\n' + "tail\n" * 500
    result = run("--profile", "four-tier", text=raw)
    assert "498 lines not shown" in result.stdout
    assert '501 ┃ ⟦{"a": 1}⟧' in result.stdout
    assert len(result.stdout.split("\n")) < 60


@pytest.mark.parametrize("brick", ["\t", "x\n"])
def test_thousands_of_edits_are_cut_and_say_so(brick: str):
    result = run("--profile", "four-tier", text='{"a": "' + brick * 20_000 + '"}')
    assert result.exit_code == 0
    assert "more of this line is not shown" in result.stdout or "lines not shown" in result.stdout
    assert "… 19,988 edits more: --json prints all" in result.stdout
    assert len(result.stdout) < 30_000


def test_many_attempts_are_cut_and_say_so():
    result = run("--profile", "master-scored", text="{x} " * 100 + '{"a": 1}')
    assert "… 61 attempts more: --json prints all" in result.stdout


def on_a_terminal(raw: str, profile: str, **environment: str) -> str:
    """What `fencepost parse` prints to a terminal of thirty columns."""
    words = ("parse", "--profile", profile)
    with forking.Terminal(*words, handles="1", COLUMNS="30", **environment) as terminal:
        terminal.process.stdin.write(raw)
        terminal.process.stdin.close()
        said = terminal.read()
    assert terminal.process.returncode in (0, 1)
    return said


def test_colour_strikes_and_underlines_but_where_nobody_wants_it():
    said = on_a_terminal('{"a": "x\ny"}', "four-tier")
    assert "\x1b[31m\x1b[9m[-↵-]\x1b[0m" in said
    assert "\x1b[32m\x1b[4m{+\\n+}\x1b[0m" in said
    assert "\x1b" not in on_a_terminal('{"a": "x\ny"}', "four-tier", NO_COLOR="1")


def test_a_long_line_is_one_that_the_terminal_breaks_itself():
    said = on_a_terminal('{"a": "' + "x" * 60 + '"}', "direct", NO_COLOR="1")
    assert [line.strip() for line in said.split("\n") if "┃" in line] == ['1 ┃ ⟦{"a": "' + "x" * 60 + '"}⟧']


def test_all_profiles_are_one_line_each_and_one_for_each_flag():
    result = run("--profile", "all")
    lines = result.stdout.strip().split("\n")
    assert any(line.startswith("◆ windlass-balanced ") and "1 edit" in line and '"run_code"' in line for line in lines)
    assert any(line.startswith("✕ windlass-strict ") for line in lines)
    documents = json.loads(run("--profile", "all", "--json").stdout)
    assert [line.split()[1] for line in lines] == [document["profile"] for document in documents]
    several = run("--profile", "all", text='{"a": 1} {"b": 2}').stdout.split("fencepost ")[1].split("\n")
    assert [line.strip() for line in several[1:3]] == [f"flag: one of several values at {at}" for at in ("0–8", "9–17")]


def test_bulk_lines_come_back_in_order_with_their_ids():
    lines = [json.dumps({"id": number, "text": f'{{"a": {number}}}'}) for number in range(5)]
    result = run("--jsonl", "--profile", "direct", text="\n".join(lines) + "\n\n")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 4]
    assert list(answers[0])[:3] == ["id", "profile", "version"]
    assert answers[4]["values"] == [{"a": 4}]


@pytest.mark.parametrize(
    ("line", "message", "known"),
    [
        ("nope", "not JSON: Expecting value: line 1 column 1 (char 0)", None),
        ("[1]", 'must be an object with "id" and "text", not list', None),
        ('{"text": "x"}', 'has no "id"', None),
        ('{"id": 7}', 'has no "text"', 7),
        ('{"id": "a", "text": 1}', '"text" is not a string', "a"),
        ("[" * 100_000, "not JSON: ", None),
    ],
)
def test_a_bad_line_is_answered_and_does_not_stop_the_rest(line: str, message: str, known: object):
    good = '{"id": 1, "text": "{}"}'
    result = run("--jsonl", "--profile", "direct", text=f"{good}\n{line}\n{good}\n")
    answers = [json.loads(answer) for answer in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert [answer.get("verdict") for answer in answers] == ["clean", None, "clean"]
    assert answers[1]["id"] == known
    assert answers[1]["error"]["code"] == "bad_line"
    assert answers[1]["error"]["message"].startswith(message)
    assert answers[1]["error"]["at"] == 2
    assert f"-, line 2: {message}" in result.stderr


def test_bulk_with_all_profiles_writes_a_line_for_each():
    result = run("--jsonl", "--profile", "all", text='{"id": 1, "text": "{}"}\n')
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert {answer["id"] for answer in answers} == {1}
    assert len({answer["profile"] for answer in answers}) == len(answers) > 9


def test_a_value_as_deep_as_the_decoder_reads_can_be_written():
    for depth in range(900, 1001, 5):
        result = run("--json", "--profile", "direct", text="[" * depth + "]" * depth)
        assert json.loads(result.stdout)["verdict"] in ("clean", "failed")


@pytest.mark.parametrize("words", [("parse", "--json", "--profile", "direct"), ("scan", "--json", "examples")])
def test_neither_flask_nor_sqlalchemy_is_imported_for_json(words: tuple[str, ...]):
    code = (
        "import sys; from webapp.cli import main\n"
        f"try: main({[*words]})\n"
        "except SystemExit: pass\n"
        "print(sorted({'flask', 'sqlalchemy', 'json_repair', 'werkzeug'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"{}", capture_output=True, cwd=ROOT, check=True)
    assert done.stderr.decode().strip() == "[]"


def test_a_terminal_without_unicode_gets_escapes():
    command = [sys.executable, "-m", "webapp", "parse", "--profile", "direct"]
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, input=b"{}", capture_output=True, cwd=ROOT, env=environment, check=True)
    assert done.stdout.startswith(b"\\u25cf clean")


def test_it_prints_the_cut_and_says_how_on_standard_error() -> None:
    result = CliRunner().invoke(main, ["minimal"], input='{"tool": "run", "list": [1, 2,]}')
    assert (result.exit_code, result.stdout) == (0, "[1,]\n")
    assert "4 of 32 characters" in result.stderr and "no character can be left out" in result.stderr


def test_as_json_and_what_does_not_fail() -> None:
    result = CliRunner().invoke(main, ["minimal", "--json", "--profile", "direct"], input="{}")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "profile": "direct",
        "same": False,
        "exhausted": False,
        "tests": 1,
        "length": 2,
        "text": None,
    }
    assert "does not fail" in result.stderr


def test_an_unknown_profile_is_wrong_use() -> None:
    assert CliRunner().invoke(main, ["minimal", "--profile", "nobody"], input="{").exit_code == 2


REPORTED = {
    "fire-circle": "000",
    "fire-circle-strict": "000",
    "fire-circle-before": "000",
    "windlass-eager": "001",
    "windlass-silent": "004",
    "windlass-strict": "001",
    "windlass-balanced": "004",
    "master-before": "002",
    "master-scored": "002",
    "four-tier": "003",
}


def listed() -> dict[str, dict[str, str]]:
    result = CliRunner().invoke(main, ["profiles", "--json"])
    assert result.exit_code == 0
    return {entry["name"]: entry for entry in json.loads(result.stdout)}


def test_every_reported_parser_is_there_with_its_report():
    assert {name: entry["report"] for name, entry in listed().items() if entry["report"]} == REPORTED
    assert {"direct", "json-repair"} <= set(listed())


def test_each_says_what_it_is_and_does():
    for name in (*REPORTED, "direct", "json-repair"):
        entry = listed()[name]
        assert entry["help"].endswith(".") and len(entry["about"]) > 100 and entry["version"], name


def test_readable_is_a_line_each_and_about_says_more():
    short = CliRunner().invoke(main, ["profiles"]).stdout
    assert len(short.strip().split("\n")) == len(profiles())
    assert "windlass-balanced" in short
    assert "report 004" in short
    long = CliRunner().invoke(main, ["profiles", "--about"]).stdout
    assert "Differences from its report" in long
