"""The documents are true: their links lead somewhere, their code runs, what they name exists."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from webapp import __version__
from webapp.app import create_app
from webapp.config import Settings
from webapp.dumps.reading import known_formats
from webapp.findings.rulebook import rules

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
DOCS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_the_readme_is_short_and_its_python_runs() -> None:
    assert README.count("\n") < 150
    (block,) = re.findall(r"```python\n(.*?)\n```\n", README, re.DOTALL)
    code, _, expected = block.strip().partition("# ")
    first, second = code.strip().splitlines()
    names: dict[str, object] = {}
    exec(first, names)
    assert repr(eval(second, names)) == expected.strip()


def test_the_api_document_names_every_route(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path, database=f"sqlite:///{tmp_path / 'x.sqlite3'}"))
    text = (ROOT / "docs" / "api.md").read_text().replace("<id>", "<ident>")
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/api/"):
            path = re.sub(r"<(?:\w+:)?(\w+)>", r"<\1>", rule.rule)
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
                assert re.search(rf"`{method} {re.escape(path)}(?=[`?])", text), (method, path)


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ("formats.md", known_formats()),
        ("findings.md", rules()),
    ],
)
def test_a_page_has_a_row_for_every_plugin_of_its_kind(document: str, names: Iterable[str]) -> None:
    text = (ROOT / "docs" / document).read_text("utf-8")
    assert [name for name in names if f"| `{name}` |" not in text] == []


def test_the_changelog_begins_with_this_version() -> None:
    assert re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == __version__


def test_no_file_names_a_package_registry_or_a_path_of_a_machine() -> None:
    banned = "|".join(
        ("py[p]i[.]org", "pythonhoste[d]", "registry[.]npm[j]s", "deb[.]debia[n]", "/wor[k]/", "/bash_job[s]")
    )
    done = subprocess.run(["git", "grep", "-nIE", banned], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == ""
