"""Numbers, names and defects in words."""

from __future__ import annotations

from webapp.findings.rule import code, defects, names, number


def test_numbers_agree_with_their_noun() -> None:
    assert [number(count, "reply", "replies") for count in (0, 1, 2, 1200)] == [
        "no replies",
        "one reply",
        "2 replies",
        "1,200 replies",
    ]


def test_defects_are_said_once_and_those_without_a_word_by_their_name() -> None:
    assert defects(["extra_closer", "extra_closer", "full_width"]) == "extra closing bracket and full width"
    assert defects([]) == ""


def test_names_are_joined_and_bounded() -> None:
    assert names("abcd") == "`a`, `b` and `c`"
    assert names(["a"]) == "`a`"


def test_code_is_bounded_and_cannot_end_its_span() -> None:
    assert code("a`b") == "`ab`" and code("`") == "` `"
    assert code("x" * 100, 10) == "`" + "x" * 9 + "…`"
