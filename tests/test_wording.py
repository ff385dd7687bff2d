"""Pages, `--help` and documents use the terms of docs/words.md, and none of the phrases that nobody understood."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from webapp.cli import main
from webapp.parsing.words import VERDICT_NAMES
from webapp.store.labels.label_content import JUDGEMENTS
from webapp.web.templating import ROOMS

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TERMS = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", (ROOT / "docs" / "words.md").read_text("utf-8"), re.MULTILINE))

FORBIDDEN = (
    "went through",
    "a moment ago",
    "appear by themselves",
    "braces too many",
    "rescued by",
    "as told",
    "in production, made of it",
    "from the one before",
    "failures, logged twice",
    "bring a dump",
    "not said",
    "go on</",
    "Save, go on",
    "that begin so",
    "failing first",
    "Who labels?",
    "like this one",
    "offers itself",
    "offered itself",
    "only one of both",
    "what the log names",
    "assigned anew",
    "shown once you have given yours",
    "take over",
    "how far it is",
    "said so",
    "what came of",
    "no more.",
    "s each<",
)
"""What readers stumbled over; each has a plain phrase in its place."""
PAGES_ONLY = ("home profile", "failed in production")
"""What documents explain and pages do not say."""


def commands(group: click.Group, path: str = "fencepost") -> Iterator[tuple[str, str]]:
    """Every command with its help as it is printed."""
    parent = click.Context(group)
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        context = click.Context(command, info_name=f"{path} {name}")
        yield f"{path} {name}", command.get_help(context)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def visible_text(template: str) -> str:
    """A template without its comments, statements and expressions, but with the texts within them."""
    text = re.sub(r"\{#.*?#\}", " ", template, flags=re.DOTALL)
    quoted = " ".join(re.findall(r'"([^"{}<>]* [^"{}<>]*)"', " ".join(re.findall(r"\{[{%].*?[%}]\}", text, re.DOTALL))))
    return re.sub(r"\s+", " ", re.sub(r"\{[{%].*?[%}]\}", " ", text, flags=re.DOTALL) + " " + quoted)


def test_no_page_says_what_nobody_understood() -> None:
    texts = {path.name: visible_text(path.read_text("utf-8")) for path in TEMPLATES}
    assert [(name, phrase) for name, text in texts.items() for phrase in FORBIDDEN if phrase in text] == []


def test_pages_say_your_parser_and_documents_explain_the_home_profile() -> None:
    for phrase in PAGES_ONLY:
        assert [path.name for path in TEMPLATES if phrase in visible_text(path.read_text("utf-8"))] == []
    assert "home profile" in TERMS["your parser"]


def test_no_help_says_what_nobody_understood() -> None:
    for name, text in commands(main):
        joined = re.sub(r"\s+", " ", text)
        assert [phrase for phrase in FORBIDDEN if phrase in joined] == [], name


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_no_document_says_what_nobody_understood(path: Path) -> None:
    joined = re.sub(r"\s+", " ", path.read_text("utf-8"))
    assert [phrase for phrase in FORBIDDEN if phrase in joined] == []


def test_every_term_has_one_sentence() -> None:
    assert len(TERMS) - 1 <= 25, "what nobody can learn in a minute is no glossary"
    for term, sentence in TERMS.items():
        if term not in ("term", "---"):
            assert re.fullmatch(r"[A-Z][^.]*(?:\.[a-z/][^.]*)*\.", sentence.replace("`", "")), term


def test_the_terms_are_those_of_pages_and_help() -> None:
    for name in (
        *VERDICT_NAMES.values(),
        "label",
        "judgement",
        "Updating live",
        "Fencepost can read",
        "parser unknown",
    ):
        assert name in TERMS, name
    for judgement in JUDGEMENTS:
        assert judgement in TERMS["judgement"], judgement
    for _, page, _ in ROOMS:
        singular = page.lower().removesuffix("s")
        assert any(singular in text.lower() for pair in TERMS.items() for text in pair) or page in (
            "Add logs",
            "Incidents",
            "Playground",
        )
