"""File names of sessions: plain ones unchanged, every other one safe, no two the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.store.exports.session_dump import path_in, safe_name

ANY = st.text(st.characters(exclude_categories=()), max_size=300) | st.sampled_from(
    ["", ".", "..", "/", "a/b", "CON", "con.txt", "~", "a~b", "%2e", "..\\..", "a.", ".a", "a..b", "x" * 201, "\0"]
)


@pytest.mark.parametrize("plain", ["abc", "ABC-1_x", "a.b.c", "2026-11-22", "x" * 200, "console", "-", "_"])
def test_a_plain_id_stays_as_it_is(plain: str) -> None:
    assert safe_name(plain) == plain


@pytest.mark.parametrize(
    "odd", ["", ".", "..", "a/b", "../../etc/x", "CON", "con.x", "Lpt1", "a.", ".a", "x" * 201, "a~b", "é"]
)
def test_any_other_id_gets_a_hash(odd: str) -> None:
    assert safe_name(odd) != odd
    assert "~" in safe_name(odd)


@given(ANY)
def test_a_name_never_leaves_the_folder(external_id: str) -> None:
    name = safe_name(external_id)
    folder = Path("/somewhere/logs")
    assert (folder / f"{name}.json").resolve().parent == folder
    assert 0 < len(f"{name}.json".encode("ascii")) <= 255
    assert not set(name) & set('<>:"/\\|?* \0')
    assert not name.startswith(".") and not name.endswith(".")


@given(ANY, ANY)
def test_two_ids_have_two_names(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


def test_a_file_of_another_case_is_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that folds case: the path exists, but the folder lists another name."""
    (tmp_path / "abc.json").write_text("")
    folded = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: folded(path.with_name(path.name.lower())))
    assert path_in(tmp_path, "abc", ".json").name == "abc.json"
    assert path_in(tmp_path, "ABC", ".json").name.startswith("ABC~")
