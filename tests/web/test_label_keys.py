"""How many keys a label of a failed response takes, counted without a browser: see `benchmarks/label_keys.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import label_keys

FOUR = '```json\n{"tool": "run", "arguments": {}}}}\n```'
MEANT = {"tool": "run", "arguments": {}}


def test_one_key_at_the_median_makes_the_right_label(shared: Path, tmp_path: Path) -> None:
    fifth = (shared / "cases" / "extraction.jsonl").read_text("utf-8").splitlines(keepends=True)[::5]
    (tmp_path / "extraction.jsonl").write_text("".join(fifth), "utf-8")
    keys = label_keys.of_cases([tmp_path / "extraction.jsonl"])
    assert len(keys) > 100
    told = label_keys.summary(keys)
    assert told["median"] == 1 and told["two or fewer"] > 0.85


@pytest.mark.parametrize(("meant", "keys"), [([MEANT], 1), ([], 1), ([7], 2 + len("7"))])
def test_keys_are_those_of_the_right_judgement_and_value(meant: list[object], keys: int) -> None:
    form = label_keys.form(label_keys.parsed(FOUR), "windlass-strict")
    assert form.fields.judgement == "missed" and form.keys([meant]) == keys and form.least() == 1


def test_without_an_offer_there_is_no_small_number() -> None:
    form = label_keys.form(label_keys.parsed("hello"), "windlass-strict", "no tool call")
    assert form.fields.judgement == "missed" and form.least() == label_keys.NO_OFFER
    told = label_keys.summary([1, label_keys.NO_OFFER, label_keys.NO_OFFER])
    assert told["median"] is None and told["keys"] == {"1": 1, "no offer": 2}
