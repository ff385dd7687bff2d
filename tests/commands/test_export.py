"""`fencepost label export` and `dump --format`: streamed to standard output, refused in words."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.commands.stored import dump
from webapp.cli import main

BROKEN = '```json\n{"tool": "t", "arguments": {"key": "secret"}}}}\n```'


@pytest.fixture
def stored(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One session with one labelled response."""
    monkeypatch.setenv("FENCEPOST_DATA", str(data))
    assert run("ingest", str(dump(tmp_path / "s.json", "s", BROKEN))).exit_code == 0
    meant = '{"tool": "t", "arguments": {"key": "secret"}}'
    assert run("label", "s", "0", "missed", "--expected", meant, "--author", "Ada").exit_code == 0


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


@pytest.mark.usefixtures("stored")
def test_labels_go_to_standard_output() -> None:
    row = json.loads(run("label", "export").stdout)
    assert row["raw"] == BROKEN and row["author"] == "Ada" and row["history"]
    assert run("label", "export", "--format", "pytest").stdout.startswith('"""Responses that people labelled')
    hidden = json.loads(run("label", "export", "--redact-key", "key", "--session", "s").stdout)
    assert "█" in hidden["raw"] and "secret" not in hidden["raw"]


@pytest.mark.usefixtures("stored")
def test_labels_without_a_known_value_are_counted_where_they_are_left_out() -> None:
    assert run("label", "export", "--format", "pytest").stderr == ""
    assert run("label", "s", "0", "missed", "--author", "Bo").exit_code == 0
    for name in ("pytest", "cases", "few-shot", "fine-tuning"):
        done = run("label", "export", "--format", name)
        assert done.exit_code == 0 and done.stderr == (
            "1 labelled response without a known value is left out: 1 on which people disagree.\n"
        )
    assert run("label", "export").stderr == ""


@pytest.mark.usefixtures("stored")
def test_a_session_is_printed_as_a_report() -> None:
    done = run("dump", "--format", "report", "s")
    assert done.exit_code == 0 and "[-}}-]" in done.stdout
    assert "secret" not in run("dump", "--format", "html", "--redact", "secret", "s").stdout


@pytest.mark.usefixtures("stored")
def test_labels_of_a_queue_and_of_a_filter() -> None:
    for options, count in (
        (("--queue", "failed"), 1),
        (("--queue", "sample&size=1&seed=2"), 1),
        (("--queue", "silent"), 0),
        (("--filter", "label=missed"), 1),
        (("--filter", "label=right"), 0),
    ):
        assert run("label", "export", *options).stdout.count("\n") == count, options


@pytest.mark.usefixtures("stored")
def test_several_sessions_are_printed_as_a_zip(tmp_path: Path) -> None:
    assert run("ingest", str(dump(tmp_path / "other.json", "other", "[1]"))).exit_code == 0
    with zipfile.ZipFile(io.BytesIO(run("dump", "--zip", "s", "other").stdout_bytes)) as archive:
        assert archive.namelist() == ["s.json", "other.json"]
        assert json.loads(archive.read("s.json"))["session_id"] == "s"


@pytest.mark.usefixtures("stored")
def test_the_formats_are_listed() -> None:
    assert "pytest" in run("label", "export", "--list").stdout


@pytest.mark.usefixtures("stored")
def test_what_cannot_be_done_is_refused() -> None:
    for args, code in [
        (("label", "export", "--format", "xlsx"), 2),
        (("label", "export", "--redact", "("), 2),
        (("label", "export", "--session", "gone"), 1),
        (("dump", "--redact", "x", "s"), 2),
        (("dump", "--format", "pdf", "s"), 2),
        (("dump", "s", "s2"), 2),
        (("dump", "--zip", "s", "gone"), 1),
        (("label", "export", "--queue", "no"), 2),
        (("label", "export", "--queue", "failed", "--session", "s"), 2),
    ]:
        done = run(*args)
        assert done.exit_code == code and "Traceback" not in done.output
