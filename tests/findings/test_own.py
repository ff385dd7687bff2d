"""Findings of one's own: the file, what it refuses, and that a match becomes a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from webapp.commands import _store
from webapp.config import Settings
from webapp.findings import own, rulebook
from webapp.findings.rule import TurnView
from webapp.findings.rulebook import RuleRunner
from webapp.parsing import parse

DOCUMENTED = re.findall(
    r"```toml\n(.*?)```", (Path(__file__).parents[2] / "docs" / "findings.md").read_text(), re.DOTALL
)


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "own.toml"
    path.write_text(DOCUMENTED[0], "utf-8")
    monkeypatch.setenv(own.VARIABLE, str(path))
    for cached in (own.configured, rulebook.rules):
        cached.cache_clear()
    yield path
    monkeypatch.delenv(own.VARIABLE)
    for cached in (own.configured, rulebook.rules):
        cached.cache_clear()


@pytest.mark.usefixtures("configured")
def test_a_match_is_a_finding_with_its_severity_words_and_turns() -> None:
    run = RuleRunner("direct")
    texts = ["fine", "I apologize for the confusion.", '{"tool": "exec"}', '{"tool": "executive"}']
    for position, raw in enumerate(texts):
        run.see(TurnView(position, position, "response", raw=raw, home=parse(raw, "direct"), ours=parse(raw)))
    run.see(TurnView(4, 4, "response", raw="", failure="Recursion limit of 25 reached"))
    run.see(TurnView(5, 5, "prompt", raw="I apologize for the confusion"))
    found = {finding.rule: finding for finding in run.findings() if finding.rule in own.configured()}
    assert {name: (finding.severity, finding.turns) for name, finding in found.items()} == {
        "apology": ("low", (1,)),
        "unknown_tool": ("high", (2,)),
        "recursion": ("medium", (4,)),
    }
    assert (
        rulebook.reason(found["unknown_tool"]) == "A tool that does not exist is called: `exec` in a value of one turn."
    )
    assert "from FENCEPOST_FINDINGS" in rulebook.about_rule("apology")[1]


@pytest.mark.usefixtures("configured")
def test_the_settings_read_it() -> None:
    assert Settings.from_environment().findings is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[finding]\n", "(at line 1"),
        ("[finding]\nname = 'a'", "double brackets"),
        ("rule = 1", "'rule' is not known"),
        ("[[finding]]\nname = 'a'", "finding 1: takes either text"),
        ("[[finding]]\nname = 'a'\ntext = 'x'\npattern = 'x'", "finding 1: takes either text"),
        ("[[finding]]\nname = 'A b'\ntext = 'x'", "small letters"),
        ("[[finding]]\nname = 'a'\ntext = ''", "text must be a text of 1 to"),
        ("[[finding]]\nname = 'a'\ntext = 'x'\nseverity = 'bad'", "severity takes high, medium, low"),
        ("[[finding]]\nname = 'a'\ntext = 'x'\nin = '$.a..b'", "in must be raw, error or a path"),
        ("[[finding]]\nname = 'a'\ntext = 'x'\nkinds = ['thought']", "kinds must be a list"),
        (
            "[[finding]]\nname = 'a'\ntext = 'x'\n[[finding]]\nname = 'a'\ntext = 'y'",
            "finding 2: another one is called",
        ),
        ("[[finding]]\nname = 'a'\ntext = 'x'\ncolour = 1", "'colour' is not known"),
        ("[[finding]]\nname = 'a'\npattern = '(?=x)'", "not a regular expression of RE2"),
        ("[[finding]]\nname = 'a'\npattern = '((a{100}){10}){10}'", "finding 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, words: str) -> None:
    with pytest.raises(own.BadFindings) as refused:
        own.parse(text, "own.toml")
    assert str(refused.value).startswith("own.toml: ") and words in str(refused.value)


def test_a_name_of_fenceposts_own_and_a_missing_file_stop_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "taken.toml"
    taken.write_text("[[finding]]\nname = 'mojibake'\ntext = 'x'")
    for path, words in ((taken, "'mojibake' is the name of a rule"), (tmp_path / "none.toml", "No such file")):
        monkeypatch.setenv(own.VARIABLE, str(path))
        own.configured.cache_clear()
        with pytest.raises(own.BadFindings, match=f"{own.VARIABLE}: .*{words}"):
            _store.settings()


def test_paths_lead_into_values_or_nowhere() -> None:
    value = {"calls": [{"name": "a"}, {"name": "b"}, 3], "n": None}
    assert list(own.at_path(value, "$.calls[*].name")) == ["a", "b"]
    assert list(own.at_path(value, "$.calls[1].name")) == ["b"]
    assert list(own.at_path(value, "$.calls[9].name")) == list(own.at_path(value, "$.n.x")) == []
    assert list(own.at_path(value, "$")) == [value]


def test_hostile_texts_do_not_stop_a_pattern() -> None:
    (entry,) = own.parse("[[finding]]\nname = 'a'\npattern = '(a*)*b'")
    assert entry.match("\ud800" + "a" * 100_000, None) is None
    assert entry.match("\ud800ab", None) == own.PatternMatch("raw", 1, "ab")
