"""`fencepost scan`: the logs of a machine or a folder against the checks, with what other programs read of it."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner, Result

from tests import forking
from tests.commands.stored import Run
from tests.machine_home import claude_code
from tests.ports import free_port
from tests.until import until
from webapp.app import create_app
from webapp.cli import main
from webapp.config import Settings
from webapp.scan.checks import CHECKS
from webapp.scan.files import locate

ROOT = Path(__file__).parents[2]
BROKEN = '{"tool": "search", "query": "Oslo",}'


def scan(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["scan", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(scan("--json", *arguments).stdout)
    return answer


def states(answer: dict[str, Any]) -> dict[str, str]:
    (session,) = answer["sessions"]
    return {name: result["state"] for name, result in session["checks"].items()}


def test_it_finds_the_logs_of_the_machine_and_names_what_is_broken(home: Path) -> None:
    result = scan()
    assert result.exit_code == 1
    assert "broken: not cut" in result.stdout
    assert "Logs on this machine: Claude Code 1. No logs of Codex" in result.stdout
    assert "Looked at 2 responses in 1 session of 1 file (" in result.stdout
    assert "✓ JSON read  ✓ calls ran  ? arguments fit  ? names declared  ✗ not cut  ✓ answered" in result.stdout
    answer = document()
    assert states(answer) == {
        "json_read": "kept",
        "calls_ran": "kept",
        "arguments_fit": "unknown",
        "names_declared": "unknown",
        "not_cut": "broken",
        "answered": "kept",
        "no_loop": "kept",
        "claims_backed": "kept",
    }
    assert answer["sessions"][0]["worst"]["turn"] == 3
    assert [check["name"] for check in answer["checks"]] == list(CHECKS)
    assert all(check["kept"] + check["broken"] + check["unknown"] == 1 for check in answer["checks"])
    assert all(check["why"] for check in answer["checks"] if check["unknown"])


def test_a_clean_run_says_what_was_looked_at(home: Path) -> None:
    log = home / ".claude/projects/-work/s-1.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:3]))
    result = scan()
    assert (result.exit_code, result.stdout.count("✗")) == (0, 0)
    assert "8 checks; 2 of them not knowable here." in result.stdout


def test_nothing_found_is_no_good_news(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = scan(str(tmp_path / "empty"))
    assert "Looked at 0 responses in 0 sessions of 0 files" in result.stdout
    assert "✓" not in result.stdout


def test_the_excerpt_is_drawn_as_parse_draws_it(home: Path) -> None:
    shown = CliRunner().invoke(main, ["scan"], color=True).stdout
    inserted = click.style("{+]}+}", fg="green", underline=True)
    assert (
        inserted in shown and inserted in CliRunner().invoke(main, ["parse"], 'It holds {"x": [1, 2', color=True).stdout
    )


def test_a_log_that_two_places_name_is_read_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".aider.chat.history.md").write_text("# aider chat started at 2026-11-24 10:00:00\n\n#### hi\n\nHello.\n")
    monkeypatch.chdir(home)
    answer = document("--since", "52w")
    assert (answer["looked"]["programs"]["Aider"], len(answer["sessions"])) == (1, 2)


@pytest.mark.parametrize("interrupt", [os.killpg, os.kill], ids=["of all its processes", "of it alone"])
def test_ctrl_c_ends_with_what_is_known(tmp_path: Path, interrupt: Callable[[int, int], None]) -> None:
    for number in range(3):
        with (tmp_path / f"{number}.jsonl").open("w") as log:
            log.writelines(claude_code("end_turn").replace("s-1", f"{number}-{each}") for each in range(4_000))
    command = [sys.executable, "-m", "webapp", "scan", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    was = signal.signal(signal.SIGINT, signal.default_int_handler)  # else ignored, where tests run in the background
    running: Any = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes)
    signal.signal(signal.SIGINT, was)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    until(lambda: len(children.read_text().split()) == 2)
    interrupt(running.pid, signal.SIGINT)
    said, errors = running.communicate(timeout=60)
    assert "Interrupted: 3 files were not looked at." in said, errors


def test_since_leaves_older_files_out_and_says_how_many(home: Path) -> None:
    old = time.time() - 30 * 86400
    os.utime(home / ".claude/projects/-work/s-1.jsonl", (old, old))
    text = scan().stdout
    assert "Older, not looked at: 1 file (--since)." in text and "No session to check." in text and "kept" not in text
    assert len(document("--since", "52w")["sessions"]) == 1
    assert scan("--since", "soon").exit_code == 2


def test_links_pipes_and_what_is_no_log_are_told(home: Path, tmp_path: Path) -> None:
    folder = home / ".claude/projects/-work"
    (tmp_path / "secret.jsonl").write_text(claude_code("end_turn"))
    (folder / "out.jsonl").symlink_to(tmp_path / "secret.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "notes.jsonl").write_text("nothing of an agent\n")
    answer = document()
    reasons = {Path(each["file"]).name: each["reason"] for each in answer["looked"]["not_read"]}
    assert set(reasons) == {"out.jsonl", "pipe.jsonl", "notes.jsonl"}
    assert (reasons["out.jsonl"], reasons["pipe.jsonl"]) == ("a link out of its folder", "no regular file")
    assert len(answer["sessions"]) == 1


def test_a_packed_log_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(
        gzip.compress(b'{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}\n')
    )
    answer = document(str(tmp_path))
    assert (len(answer["sessions"]), answer["looked"]["not_read"]) == (1, [])


def test_a_parser_that_is_not_there_is_a_usage_error(home: Path) -> None:
    result = scan("--home", "nosuch")
    assert (result.exit_code, result.stdout) == (2, "") and "no profile is called 'nosuch'" in result.stderr


def test_a_parser_of_ones_own_is_run_on_what_is_scanned(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": BROKEN}]
    (tmp_path / "log.json").write_text(json.dumps({"messages": messages}))
    log = str(tmp_path / "log.json")
    assert states(document(log))["json_read"] != "broken"
    assert states(document("--home", "json:loads", log))["json_read"] == "broken"
    refused = scan("--home", "nowhere:nothing", log)
    assert (refused.exit_code, refused.stdout) == (1, "") and "nowhere:nothing cannot run" in refused.stderr


def test_a_path_that_is_not_there_is_a_usage_error(home: Path) -> None:
    assert scan("nowhere").exit_code == 2


def test_the_place_is_the_line_and_column_of_the_character(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": f'Ä "{BROKEN}"\nend'}]
    log = tmp_path / "log.jsonl"
    log.write_text(f'{{"messages": []}}\n{json.dumps({"messages": messages})}\n')
    raw = messages[1]["content"]
    place = locate(log, raw, raw.index(",}"))
    assert place is not None and place.line == 2
    assert log.read_text().splitlines()[1][place.column - 1 :].startswith(",}")
    assert locate(log, "nowhere in it") is None
    log.write_bytes(b"SQLite format 3\0" + raw.encode())
    assert locate(log, raw) is None  # a database has no lines


def test_sarif_junit_and_the_page_say_the_same(home: Path, tmp_path: Path) -> None:
    out = [str(tmp_path / name) for name in ("scan.sarif", "scan.xml", "scan.html")]
    scan("--sarif", out[0], "--junit", out[1], "--html", out[2])
    (run,) = json.loads(Path(out[0]).read_text())["runs"]
    (result,) = run["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    line = (home / ".claude/projects/-work/s-1.jsonl").read_text().splitlines()[region["startLine"] - 1]
    assert result["ruleId"] == "not_cut" and line[region["startColumn"] - 1 :].startswith("It holds")
    failed = [case.get("name") for case in ET.parse(out[1]).iter("testcase") if case.find("failure") is not None]
    assert failed == ["s-1"]
    page = Path(out[2]).read_text()
    assert "It holds" in page and not re.search(r"(?:src|href)=", page)


def test_what_was_found_is_printed_where_a_report_cannot_be_written(home: Path, tmp_path: Path) -> None:
    result = scan("--sarif", str(tmp_path))
    assert result.exit_code == 2 and "broken: not cut" in result.stdout and "Is a directory" in result.stderr


def test_names_and_texts_are_escaped_in_every_answer(home: Path, tmp_path: Path) -> None:
    folder = home / ".claude/projects/-work"
    (folder / "<b>\x1b[31m.jsonl").write_text(claude_code("max_tokens").replace("It holds", "<script>\u202e"))
    result = scan("--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "<script>" not in page and "<b>" not in page
    assert not {"\x1b", "\u202e"} & {*result.stdout, *page}


def test_what_is_to_be_hidden_is_masked_everywhere(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = scan("--redact", "holds", "--html", str(page))
    assert "holds" not in result.stdout + page.read_text()
    assert "[1, 2" in result.stdout
    log = home / ".claude/projects/-work/s-1.jsonl"
    log.write_text(log.read_text().replace('\\"x\\": [1, 2', '\\"x\\": \\"secret'))
    assert "secret" in scan().stdout and "secret" not in scan("--redact-key", "x").stdout


def test_what_is_to_be_hidden_may_be_a_word_of_the_report(home: Path, tmp_path: Path) -> None:
    plain = scan().stdout
    shown = scan("--redact", "name|checks|broken|sessions|not_cut").stdout
    assert shown.startswith("1. s-1  [medium; broken: not cut]")
    files = [str(tmp_path / name) for name in ("s.sarif", "j.xml", "p.html")]
    written = ("--sarif", files[0], "--junit", files[1], "--html", files[2])
    for keys in (("state", "checks"), ("name", "worst"), ("severity", "place")):
        hidden = [word for key in keys for word in ("--redact-key", key)]
        assert scan(*hidden, *written).stdout == plain


def test_empty_answers_are_not_ticked_where_no_tokens_are_counted(home: Path) -> None:
    log = home / ".claude/projects/-work/s-1.jsonl"
    log.write_text(claude_code("end_turn").replace('"It holds {\\"x\\": [1, 2"', '""'))
    answer = document()
    assert states(answer)["answered"] == "unknown"
    assert "1 answer without a text" in answer["sessions"][0]["checks"]["answered"]["why"]


ASKED = {"role": "user", "content": "Summarise the logs."}
ANSWERED = {"role": "assistant", "content": "They are empty."}
TOO_LONG = {"error": {"message": "Prompt is too long", "type": "invalid_request_error"}}


@pytest.mark.parametrize(
    ("entries", "state"),
    [
        ([ASKED, TOO_LONG], "broken"),
        ([ASKED, TOO_LONG, ANSWERED], "kept"),
        ([ASKED, ANSWERED, TOO_LONG], "kept"),
        ([ASKED, ANSWERED, ASKED, {"error": {"message": "Request was aborted."}}], "kept"),
        ([ASKED, ANSWERED, {"error": {"message": "stream closed before response.completed"}}], "broken"),
    ],
    ids=["instead of an answer", "then an answer", "behind the answer", "stopped by a person", "within the answer"],
)
def test_an_error_instead_of_the_last_answer_breaks_a_check(
    tmp_path: Path, entries: list[dict[str, Any]], state: str
) -> None:
    log = tmp_path / "chat.jsonl"
    log.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    answer = document(str(log))
    assert states(answer)["answered"] == state
    assert ("it ends in an error, without an answer: `" in scan(str(log)).stdout) == (state == "broken")


BROWSER = """import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=60) as answer, open({seen!r}, "a") as seen:
    print(answer.status, sys.argv[1], file=seen)
"""


def test_the_worst_turn_is_opened_in_the_browser_by_the_same_link(home: Path, data: Path, tmp_path: Path) -> None:
    """By a browser of the test's own, a script that waits for the answer, as some browsers are waited for."""
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f"#!{sys.executable}\n{BROWSER.format(seen=str(seen))}")
    browser.chmod(0o755)
    port = free_port()
    environ = {**os.environ, "HOME": str(home), "FENCEPOST_DATA": str(data), "BROWSER": str(browser), "PORT": str(port)}
    server = forking.command("scan", "--open", environ=environ)
    try:
        opened = f"200 http://127.0.0.1:{port}/sessions/s-1/turns/3"
        until(lambda: seen.exists() and seen.read_text())
        assert seen.read_text().splitlines() == [opened]
        forking.command("scan", "--open", environ=environ).communicate()
        assert seen.read_text().splitlines() == [opened, opened]
    finally:
        server.terminate()
        server.communicate()


def test_fail_on_counts_only_what_weighs_as_much(home: Path) -> None:
    assert scan("--fail-on", "high").exit_code == 0


def test_the_findings_are_those_of_an_ingest(run: Run, data: Path) -> None:
    """Of our examples and, where it stands beside the checkout, of the smaller files of the corpus."""
    corpus = sorted((ROOT.parent / "shared" / "corpus").glob("*/*"))
    corpus = [path for path in corpus if path.name != "LICENSE" and path.stat().st_size < 130_000]
    files = [str(path) for path in [*sorted((ROOT / "examples").glob("*.json*")), *corpus]]
    run("ingest", *files)
    client = create_app(Settings(data=data, database=f"sqlite:///{data / 'fencepost.sqlite3'}")).test_client()
    sessions = document(*files)["sessions"]
    assert sum(len(session["findings"]) for session in sessions) > 10
    for session in sessions:
        stored = client.get(f"/api/session/{quote(session['id'], safe='')}").get_json()
        assert findings(session) == findings(stored), session["id"]


def findings(session: dict[str, Any]) -> list[tuple[str, str, list[int]]]:
    return sorted((finding["rule"], finding["severity"], finding["turns"]) for finding in session["findings"])
