"""Line breaks of a template: spaces in tags and sentences, kept between elements and in verbatim text.

Compiled templates in a folder: one that is right is taken, one that is not is made anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest
from flask import Flask

from webapp.web import templating
from webapp.web.templating import TemplateCache


@pytest.fixture(autouse=True)
def writes_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


class Compiling(jinja2.Environment):
    """Counts what it compiles."""

    def __init__(self, templates: Path) -> None:
        folder = templates / "__pycache__"
        super().__init__(loader=jinja2.FileSystemLoader(templates), bytecode_cache=TemplateCache(folder))
        self.compiled: list[str | None] = []

    def compile(self, source, name=None, *arguments, **options):  # type: ignore[no-untyped-def]
        self.compiled.append(name)
        return super().compile(source, name, *arguments, **options)


def shown(templates: Path) -> tuple[str, list[str | None]]:
    environment = Compiling(templates)
    return environment.get_template("page.html").render(), environment.compiled


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    (tmp_path / "page.html").write_text("{{ 1 + 1 }}")
    return tmp_path


def test_the_next_start_compiles_nothing(templates: Path) -> None:
    assert shown(templates) == ("2", ["page.html"])
    assert shown(templates) == ("2", [])


def test_a_changed_template_is_compiled_anew(templates: Path) -> None:
    shown(templates)
    (templates / "page.html").write_text("{{ 2 + 2 }}")
    assert shown(templates) == ("4", ["page.html"])


def test_another_compiler_compiles_anew(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown(templates)
    monkeypatch.setattr(templating, "_COMPILERS", templating._COMPILERS[:-1])
    assert shown(templates) == ("2", ["page.html"])


def test_a_damaged_file_is_made_anew(templates: Path) -> None:
    shown(templates)
    (file,) = (templates / "__pycache__").iterdir()
    file.write_bytes(file.read_bytes()[:-10])
    assert shown(templates) == ("2", ["page.html"])
    assert shown(templates) == ("2", [])


def test_where_nothing_can_be_written_pages_are_shown_all_the_same(templates: Path) -> None:
    (templates / "__pycache__").write_text("a file stands where the folder would be")
    assert shown(templates) == ("2", ["page.html"])


def test_python_s_own_switch_holds(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    shown(templates)
    assert not (templates / "__pycache__").exists()


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a sentence\n  over lines", "a sentence over lines"),
        ('<a class="x"\n  href="/">', '<a class="x" href="/">'),
        ("{{ 1 }}\n  and\n  {{ 2 }}", "1 and 2"),
        ("more\n  <b>lines</b>", "more <b>lines</b>"),
        ("<p>one</p>\n<p>two</p>", "<p>one</p>\n<p>two</p>"),
        ("<pre>one\n  two</pre> and\n  on", "<pre>one\n  two</pre> and on"),
        ("<textarea>\n{{ 'a\\n  b' }}</textarea>", "<textarea>\na\n  b</textarea>"),
    ],
)
def test_a_line_break_in_a_tag_or_a_sentence_is_a_space(app: Flask, template: str, text: str) -> None:
    assert app.jinja_env.from_string(template).render() == text
