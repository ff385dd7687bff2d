"""Every command of `fencepost` that a page, document, help text or message shows is run, in a folder of its own with a
database; what stands for a name of the reader's is in the tables here, and what is not run is listed with a reason."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import click
import pytest
import waitress
from click.testing import CliRunner, Result

from tests.commands.stored import BROKEN, dump
from tests.locked import common_folder, locked
from tests.shown_commands import SHOWN, ShownCommand, of_file
from webapp import app
from webapp.cli import main
from webapp.commands import work
from webapp.web.worker_process import WorkerSupervisor

FOR_NAMES = {
    "ID": ["a/b"],
    "POSITION": ["0"],
    "JUDGEMENT": ["missed"],
    "NUMBER": ["1"],
    "P": ["direct"],
    "PROFILE": ["direct"],
    "A": ["direct"],
    "B": ["fencepost"],
    "F": ["jsonl"],
    "[filters]": [],
    "/backups/fencepost-monday.sqlite3": ["monday.sqlite3"],
    "$FENCEPOST_DATABASE": ["sqlite:///copy.sqlite3"],
}
FOR_VALUES = {"--format": "windlass", "--map": "mine", "--profile": "direct", "user token": "ann"}
"""what stands for NAME, or for a value that a message puts in, behind an option or a command"""
TO_END = {
    "compare": ["direct", "fencepost"],
    "contract": ["session.json"],
    "db backup": ["monday.sqlite3"],
    "db copy": ["data/fencepost.sqlite3", "sqlite:///copy.sqlite3"],
    "dump": ["a/b"],
    "home set": ["direct", "--all"],
    "home undo": ["1"],
    "label": ["a/b", "0", "missed"],
    "label export": ["--format", "jsonl"],
    "label import": ["labels.json"],
    "minimal": ["response.txt"],
    "prune": ["--older-than", "90d", "--dry-run"],
    "user add": ["bob"],
    "replay": ["--profile", "direct"],
    "verify": ["session.json"],
}
"""what a reader adds where only the command, or an option of it, is named"""
NOT_RUN = {
    "ingest 1 1": "a message that a program fills in: tests/dumps/test_guess.py runs what it then says",
    "FENCEPOST_ROLE=web serve": "needs PostgreSQL, as the page says: tests/commands/test_serve.py",
    "FENCEPOST_ROLE=worker serve": "needs PostgreSQL, as the page says: tests/store/jobs",
    "work --stay": "takes PostgreSQL and goes on until it is stopped: tests/store/jobs run it there",
    "ingest --watch session.json": "goes on until it is stopped: tests/commands/test_ingest_watch.py runs it",
    "scan": "reads what is on this machine: tests/commands/test_scan.py gives it a home of its own",
    "mcp": "talks to a program on its standard input: tests/commands/test_mcp.py does",
}
TYPED = json.dumps({"id": "a", "text": BROKEN}) + "\n"
"""a response for `parse`; typed twice, as good a password as any"""
EXPORT = ["label", "export", "--format", "gate"]
NO = {"check": "there is no baseline at first", "scan more/": "a response there is broken"}
"""commands whose answer is no in this folder, which is exit 1"""


def options_of(command: click.Command) -> dict[str, click.Parameter]:
    return {name: option for option in command.params for name in (*option.opts, *option.secondary_opts)}


def resolved(words: list[str]) -> tuple[list[str], list[str], click.Command]:
    """The words that name a command, those behind them, and the command."""
    found: click.Command = main
    context = click.Context(main)
    names: list[str] = []
    while isinstance(found, click.Group) and words and (inner := found.get_command(context, words[0])) is not None:
        found = inner
        names.append(words.pop(0))
    return names, words, found


def without_prose(words: list[str], command: click.Command) -> list[str]:
    """The options, their values and the names in capitals: a message goes on in words behind its command."""
    kept: list[str] = []
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            kept.append(word)
            option = options_of(command).get(word)
            if words and isinstance(option, click.Option) and not option.is_flag:
                kept.append(words.pop(0))
        elif re.fullmatch(r"[A-Z]+|N|\S*[./|]\S*", word):
            kept.append(word)
        else:
            break
    return kept


def arguments(shown: ShownCommand, is_message: bool) -> list[str]:
    """What is run for a command as it is shown."""
    words = re.sub(r"\{\{.*?\}\}", "N", " ".join(shown.words)).split() if "{{" in str(shown) else list(shown.words)
    names, words, command = resolved(words)
    if is_message:
        words = without_prose(words, command)
    filled: list[str] = []
    file = "runs.jsonl" if "--map" in words else "session.json"
    for word in words:
        before = filled[-1] if filled else ""
        if word in ("NAME", "N", "…"):
            filled.append(FOR_VALUES.get(before or " ".join(names), "1"))
        else:
            filled += [file] if word == "FILE" else FOR_NAMES.get(word, [word])
    option = options_of(command).get(filled[-1]) if filled else None
    if isinstance(option, click.Option) and not option.is_flag and not option._flag_needs_value:
        filled += [FOR_VALUES.get(filled[-1], "cases.jsonl")] * option.nargs
    filled += added(" ".join(names), filled, file)
    if isinstance(command, click.Group) and not filled:
        filled = ["--help"]
    return [*names, *filled]


def added(path: str, words: list[str], file: str) -> list[str]:
    """What is added to a command that is shown with too little to run."""
    if path == "check" and "--contract" in words:
        return []
    if path == "check":
        more = (("--profile", "direct"), ("--labels", "cases.jsonl"))
        return [word for option in more if option[0] not in words for word in option]
    has_operand = any(not word.startswith("-") and not before.startswith("--") for before, word in pairs(words))
    if "--help" in words or has_operand:
        return []
    more = [file] if path == "ingest" else TO_END.get(path, [])
    return [] if more and more[0] in words else more


def pairs(words: list[str]) -> list[tuple[str, str]]:
    return list(zip(["", *words], words, strict=False))


def shown_commands() -> dict[tuple[str, ...], ShownCommand]:
    """What is run, with the command as it is shown first."""
    found: dict[tuple[str, ...], ShownCommand] = {}
    for path in SHOWN:
        for command in of_file(path, "fencepost"):
            is_message = path.suffix == ".py"
            if is_message and resolved(list(command.words))[2] is main:
                continue  # a sentence about fencepost
            words = [*(f"{name}={value}" for name, value in command.environment), *arguments(command, is_message)]
            found.setdefault(tuple(words), command)
    return found


COMMANDS = shown_commands()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Path:
    """A project as the documents speak of it: a dump that is read, a label, a change of parser, parsers of its own."""
    made = common_folder(tmp_path_factory) / "shown"
    with locked(made):
        if not (made / "labels.json").exists():
            fill(made, migrated)
    return made


def fill(made: Path, migrated: Path) -> None:
    shutil.rmtree(made, ignore_errors=True)
    (made / "data").mkdir(parents=True)
    shutil.copyfile(migrated, made / "data" / "fencepost.sqlite3")
    dump(made / "session.json", "a/b", "{}", BROKEN)
    for name in ("more", ".fencepost/spool", "acme"):
        (made / name).mkdir(parents=True)
    dump(made / "more" / "one.jsonl", "c", BROKEN)
    dump(made / ".fencepost" / "spool" / "two.json", "d", BROKEN)
    (made / "runs.jsonl").write_text(json.dumps({"output": {"text": BROKEN}, "run_id": "e"}))
    (made / "response.txt").write_text(BROKEN)
    (made / "tools.json").write_text('[{"type": "function", "function": {"name": "run_code", "parameters": {}}}]')
    for name in ("acme_parser.py", "acme/parsers.py"):
        (made / name).write_text("import json\n\ndef parse(text):\n    return json.loads(text)\n")
    for words in (
        "ingest session.json",
        'label a/b 1 missed --author ann --expected {"tool":"run_code"}',
        "user add ann --no-password --role admin",
        "user token ann laptop --scope read",
        "home set direct --all",
        "ingest --map raw=$.output.text --map session=$.run_id --save-map mine runs.jsonl",
    ):
        done = run(made, words.split(" "))
        assert done.exit_code == 0, (words, done.output)
    cases = [{**json.loads(line), "split": "test"} for line in run(made, EXPORT).stdout.splitlines()]
    (made / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (made / "labels.json").write_text(run(made, ["label", "list", "--json"]).stdout)


def run(folder: Path, words: list[str], **environment: str) -> Result:
    here = {"FENCEPOST_DATA": str(folder / "data"), "FENCEPOST_DATABASE": "", "PYTHONPATH": str(folder), **environment}
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(main, words, input=TYPED * (1 + (words[0] == "user")), env=here)
    finally:
        os.chdir(before)


class StoppedServer:
    """A server that is told to stop as soon as it would serve."""

    effective_port = 0

    def run(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("words", [words for words in COMMANDS if " ".join(words) not in NOT_RUN], ids=" ".join)
def test_a_shown_command_does_what_it_is_shown_for(
    words: tuple[str, ...], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path(shutil.copytree(folder, tmp_path / "project"))
    monkeypatch.setattr(waitress, "create_server", lambda *_, **__: StoppedServer())
    monkeypatch.setattr(app, "start_upkeep", lambda *_: None)  # its threads would go on behind the test
    monkeypatch.setattr(WorkerSupervisor, "wake", lambda _: None)  # a process that takes a second
    monkeypatch.setattr(work, "work_on", lambda *_: None)
    command = [word.replace("/srv/acme/.venv/bin/python", sys.executable) for word in words]
    environment = dict(word.split("=", 1) for word in command[: len(COMMANDS[words].environment)])
    command = command[len(environment) :]
    done = run(here, command, **environment)
    is_no = " ".join(command[:2]) in NO or (command[0] in NO and "--contract" not in command)
    assert done.exit_code == is_no, (str(COMMANDS[words]), done.output)


@pytest.mark.parametrize("words", NOT_RUN)
def test_what_is_not_run_is_still_shown(words: str) -> None:
    assert words in map(" ".join, COMMANDS)
