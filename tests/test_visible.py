"""One table of what cannot be seen: every such character is drawn as a sign, emoji and plain text stay as they are."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.visible import (
    _HIDDEN,
    _SUSPECT,
    SPECIAL,
    beyond_ascii,
    clipped,
    glyph,
    hidden_texts,
    line_runs,
    runs,
    visible,
)

UNSEEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
IGNORABLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200f\u202a\u202e\u2060\u2065\u206f\u3164\ufe00\ufe0f\ufeff"
    "\uffa0\ufff0\ufff8\ufff9\ufffb\U0001bca0\U0001d173\U000e0000\U000e0001\U000e007f\U000e0080\U000e0100\U000e01ef\U000e0fff"
)
FLAG = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbwls") + "\U000e007f"


def test_every_control_format_surrogate_and_private_character_is_special() -> None:
    every = (chr(code) for code in range(0x110000) if chr(code) not in "\n\t")
    assert [c for c in every if unicodedata.category(c) in UNSEEN and not SPECIAL.match(c)] == []


@pytest.mark.parametrize("character", IGNORABLE, ids=lambda character: f"U+{ord(character):04X}")
def test_what_unicode_says_draws_nothing_is_drawn(character: str) -> None:
    assert visible(f"a{character}b") == f"a⟨U+{ord(character):04X}⟩b"


@pytest.mark.parametrize(
    "text",
    ["naïve ’…’ é", "\U0001f469\u200d\U0001f4bb", "\u2764\ufe0f", "1\ufe0f\u20e3", FLAG, "日本語", "नमस्ते", "안녕"],
)
def test_what_can_be_seen_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "\u2764\ufe0f\ufe0f",
        "gpt-4\ufe0f",
        "1\ufe0e",
        "a\ufe0f\u20e3",
        "a\u200db",
        "a\ufe0f",
        "\U0001f3f4\U000e0067",
        "\U0001f600\ufe00",
    ],
)
def test_what_hides_behind_an_emoji_is_drawn(text: str) -> None:
    assert "⟨U+" in visible(text)


def test_controls_are_pictures_and_lines_stay_on_one() -> None:
    assert visible("a\x00\x1b\x7f\r\nb\tc") == "a␀␛␡␍↵b⇥c"
    assert (glyph("\u202e").label, glyph("\u180e").label, glyph("\ud800").name) == (
        "RLO",
        "180E",
        "U+D800 lone surrogate",
    )
    assert visible(None) == "" and clipped("x" * 10 + "\u202e", 4) == "xx … 7 characters … x⟨U+202E⟩"


@given(st.text())
def test_the_runs_are_the_text_and_nothing_unseen_is_left(text: str) -> None:
    assert "".join(run.text if run.code is None else chr(run.code) for run in runs(text)) == text
    assert not SPECIAL.search(visible(text))
    assert [run.label for run in line_runs(text)].count("LF") >= text.count("\n")


@given(st.text(st.characters(max_codepoint=0x7F), min_size=1))
def test_what_is_written_in_tags_is_read(words: str) -> None:
    hidden = list(hidden_texts("é" + "".join(chr(0xE0000 + ord(letter)) for letter in words)))
    assert [(one.start, one.end, one.says) for one in hidden] == [(1, 1 + len(words), words)]


def test_plain_text_flags_and_single_joiners_hide_nothing() -> None:
    assert list(hidden_texts(f"plain {FLAG} \u2764\ufe0f a\u200bb \ufeff")) == []


def test_every_character_that_hides_text_is_suspected_by_its_bytes() -> None:
    for code in range(0x80, 0x110000):
        text = chr(code) * 8
        if _HIDDEN.search(text):
            assert _SUSPECT.search(beyond_ascii(text)), hex(code)
