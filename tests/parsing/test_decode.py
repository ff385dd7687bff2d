"""Decoding as data, against `json.loads` itself: the same value, or its exception's own words and place."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from webapp.parsing.decode import decode

texts = st.text(alphabet='{}[]":,.-+ \t\n\r\\\ufeff\x00\u2028abntuefINy019é', max_size=30)


@given(st.one_of(texts, st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps)), st.booleans())
@example("", True)
@example(" \n", True)
@example("{} x", True)
@example("[1]]\n", True)
@example('"a\nb"', False)
@example('"a\nb"', True)
@example("\ufeff{}", True)
@example("NaN", True)
@example("9" * 5_000, True)
@example("[1, ]" + " " * 2_000, True)
def test_it_is_what_json_loads_says(text: str, strict: bool) -> None:
    decoded = decode(text, strict=strict)
    try:
        value = json.loads(text, strict=strict)
    except json.JSONDecodeError as error:
        failure = decoded.failure
        assert failure
        assert (failure.type, failure.message, failure.at) == ("JSONDecodeError", error.msg, error.pos)
        assert failure.wording == str(error)
    except ValueError as error:
        assert decoded.failure
        assert decoded.failure.wording == str(error)
    else:
        assert decoded.failure is None
        assert repr(decoded.value) == repr(value)


@given(texts)
@example("[NaN]")
@example("-Infinity")
@example('["NaN"]')
def test_without_nan_it_is_stricter_and_nothing_else(text: str) -> None:
    finite, plain = decode(text, finite=True), decode(text)
    if finite.failure is None:
        assert plain.failure is None
        assert repr(finite.value) == repr(plain.value)
    elif plain.failure is None:
        assert "NaN" in text or "Infinity" in text
