"""Times in every writing come out as UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from webapp.dumps.values import moment, number, whole

NOON = datetime(2025, 12, 3, 12, 0, 0, 250000, UTC)


@pytest.mark.parametrize(
    "value",
    [
        1764763200.25,
        "1764763200.25",
        1764763200250,
        1764763200250000,
        1764763200250000000,
        "2025-12-03T12:00:00.25Z",
        "2025-12-03T12:00:00.250000000+00:00",
        "2025-12-03T13:00:00.25+01:00",
        " 2025-12-03 12:00:00.250 ",
    ],
)
def test_writings_of_one_moment(value):
    assert moment(value) == NOON


@pytest.mark.parametrize(
    ("value", "year"), [(0, 1970), (-1, 1969), (7226582400, 2199), ("2199-01-01", 2199), (31536000000 * 4, 1973)]
)
def test_far_years(value, year):
    assert moment(value).year == year


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "soon",
        "9" * 30,
        float("nan"),
        float("inf"),
        10**40,
        -(10**40),
        [],
        {},
        "0001-01-01T00:00+23:00",
        "\ud800",
    ],
)
def test_what_is_no_moment(value):
    assert moment(value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        (3.0, 3),
        ("3", 3),
        ("-3.0", -3),
        (2**63 - 1, 2**63 - 1),
        (2**63, None),
        (3.5, None),
        (float("nan"), None),
        (float("inf"), None),
        (1e300, None),
        (True, None),
        ("three", None),
        (None, None),
        ([3], None),
    ],
)
def test_whole_numbers(value, expected):
    assert whole(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, 0.5),
        (1, 1.0),
        ("0.5", 0.5),
        (True, None),
        (float("nan"), None),
        ("x", None),
        (10**400, None),
        (None, None),
    ],
)
def test_numbers(value, expected):
    assert number(value) == expected
