"""Which parsers people configured: the variable, the nearest pyproject.toml, and what cannot be meant."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from webapp.capture import specs
from webapp.capture.specs import BadSpec, Defaults
from webapp.parsing.profiles._configured import process_of

HERE = Defaults(sys.executable, Path("/home/acme"), "FENCEPOST_PROFILES")


def test_a_parser_has_its_own_name_or_another_and_an_interpreter() -> None:
    text = "acme.parsers:parse, plan=acme.parsers:Plan.read@.venv/bin/python, b:c@python3.9"
    assert [(spec.name, spec.target, spec.python) for spec in specs.read(text, HERE)] == [
        ("acme.parsers:parse", "acme.parsers:parse", sys.executable),
        ("plan", "acme.parsers:Plan.read", "/home/acme/.venv/bin/python"),
        ("b:c", "b:c", "python3.9"),
    ]


def test_commands_with_quotes_and_commas() -> None:
    (first, second, third) = specs.read("cmd:'node parse.js a,b',cmd:./my-go-parser,js=cmd:node \"a,b.js\"", HERE)
    assert (first.name, first.command) == ("cmd:node parse.js a,b", "node parse.js a,b")
    assert (second.name, second.command) == ("cmd:./my-go-parser", "./my-go-parser")
    assert (third.name, third.command) == ("js", 'node "a,b.js"')


def test_options_stand_behind_a_parser() -> None:
    text = "plan=a:b@py --value data.plan --depends 'my prompts' --depends=x, cmd:'node p.js --value mine'"
    text += ", cmd:go --depends x"
    python, node, go = specs.read(text, HERE)
    assert (python.name, python.target, python.python, python.value) == ("plan", "a:b", "py", "data.plan")
    assert python.depends == ("my prompts", "x")
    assert (node.command, node.value, node.depends) == ("node p.js --value mine", "", ())
    assert (go.name, go.command, go.depends) == ("cmd:go", "go", ("x",))


def test_two_checkouts_of_one_module_are_two_parsers(tmp_path: Path) -> None:
    """A folder behind the @ is where it is run and imported from, or the folder that its own pyproject.toml names."""
    new = tmp_path / "new"
    for folder in (tmp_path / "old", new / "src"):
        (folder / "acme").mkdir(parents=True)
        (folder / "acme" / "plan.py").write_text(f"def parse(text):\n    return {folder.name!r}\n")
    (new / "pyproject.toml").write_text('[tool.fencepost]\nfolder = "src"\n')
    both = specs.read("old=acme.plan:parse@old,new=acme.plan:parse@new", replace(HERE, folder=tmp_path))
    processes = [process_of(spec) for spec in both]
    try:
        assert [process.parse('"x"').value for process in processes] == ["old", "src"]
        assert len({process.version() for process in processes}) == 2
    finally:
        for process in processes:
            process.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("oops", "'oops' is neither module:function"),
        ("a:b c", "neither"),
        ("cmd:", "names no command"),
        ("cmd:'node", "opened and not closed"),
        ("x" * 300 + ":f", "too long for a name"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(BadSpec, match=words):
        specs.read(text, HERE)


def test_two_of_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(specs.VARIABLE, "a:b@/one/python,a:b@/two/python")
    with pytest.raises(BadSpec, match="two parsers are called 'a:b'"):
        specs.configured()


def test_the_nearest_project_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.fencepost]\nprofiles = ["acme:parse"]\npython = ".venv/bin/python"\nfolder = "src"\nseconds = 2\n'
    )
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    monkeypatch.chdir(below)
    monkeypatch.setenv(specs.VARIABLE, "more:parse")
    listed, variable = specs.configured().values()
    assert (listed.name, listed.folder, listed.seconds) == ("acme:parse", tmp_path / "src", 2)
    assert (variable.name, variable.folder) == ("more:parse", tmp_path / "src")
    assert listed.python == variable.python == str(tmp_path / ".venv" / "bin" / "python")


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("[tool.fencepost]\nprofile = 1\n", r"knows no 'profile'"),
        ("[tool.fencepost]\nprofiles = 1\n", "must be a list of texts"),
        ("[tool.fencepost]\nseconds = 0\n", "seconds of .* must be a number above 0"),
        ("[tool.fencepost\n", "pyproject.toml: "),
    ],
)
def test_a_project_that_cannot_be_read_says_where(
    section: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(section)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadSpec, match=words):
        specs.configured()


def test_one_more_is_configured_for_this_process_and_those_it_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(specs.VARIABLE, "a:b")
    assert specs.add("mine=c:d") == "mine"
    assert list(specs.configured()) == ["a:b", "mine"]
    assert specs.looks_like_one("mine=c:d") and specs.looks_like_one("cmd:x") and not specs.looks_like_one("direct")
