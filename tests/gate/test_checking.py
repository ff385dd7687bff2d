"""The gate's verdict: what a regression is, what fails, and that verdict, exit code and every report say the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gate.made import CASES, write
from webapp import parsing
from webapp.gate import checking, reports, samples
from webapp.gate.samples import BadLines, Sample, SampleReading
from webapp.parsing import Profile

OURS = parsing.profile("fencepost")
DIRECT = parsing.profile("direct")
SAMPLES = samples.read((json.dumps(row) for row in CASES), "cases")
VALUES = st.sampled_from([(), ({"a": 1},), ({"a": 2},), ("x",), None])


def reading(sample: Sample, values: tuple[Any, ...] | None, text: str | None = None) -> SampleReading:
    digest = samples.digest_of(json.dumps(values))
    return SampleReading(sample.id, text or sample.sha256, "clean" if values else "failed", digest, values)


@st.composite
def runs(draw: Any) -> tuple[list[Sample], dict[str, SampleReading], dict[str, SampleReading], dict[str, Any]]:
    """Any sample, with any readings before and now, some of them missing or of another text."""
    ids = draw(st.lists(st.sampled_from("abcdef"), unique=True))
    meant = st.sampled_from([None, (), ({"a": 1},), ({"a": 2},)])
    sample = [Sample(one, f"text {one}", draw(meant), draw(st.sampled_from(["dev", "test"]))) for one in ids]
    now = {one.id: reading(one, draw(VALUES)) for one in sample}
    before = {one.id: reading(one, draw(VALUES), draw(st.sampled_from([None, None, None, "other"]))) for one in sample}
    for one in draw(st.sets(st.sampled_from("abcdef"), max_size=1)):
        before.pop(one, None)
    if draw(st.integers(0, 5)) == 5:
        before["gone"] = reading(Sample("gone", "", None, "dev"), ())
    allowed = dict.fromkeys(draw(st.sets(st.sampled_from("abcdef"), max_size=2)), "known")
    options = {"allowed": allowed, "strict": draw(st.booleans()), "updating": draw(st.booleans())}
    return sample, now, before, options | {"split": draw(st.sampled_from([None, "dev", "test"]))}


@given(runs(), st.sampled_from([None, "created", "updated"]))
def test_verdict_exit_code_and_reports_never_contradict(
    run: tuple[list[Sample], dict[str, SampleReading], dict[str, SampleReading], dict[str, Any]], written: str | None
) -> None:
    sample, now, before, options = run
    report = replace(checking.compare(sample, now, before, OURS, **options), written=written)
    fails = bool(report.of("regression")) or (report.strict and bool(report.of("changed"))) or written == "created"
    expected = "error" if report.problems else "failed" if fails else "passed"
    assert report.verdict == expected and report.exit_code == {"passed": 0, "failed": 1, "error": 2}[expected]
    assert bool(report.reasons) == (report.exit_code != 0)
    document = json.loads(reports.to_json(report))
    assert (document["verdict"], document["exit_code"]) == (report.verdict, report.exit_code)
    suite = ET.fromstring(reports.to_xml(report))
    bad = [case for case in suite if case.find("failure") is not None or case.find("error") is not None]
    assert bool(bad) == (report.exit_code != 0)
    assert int(suite.attrib["failures"]) + int(suite.attrib["errors"]) == len(bad)
    assert int(suite.attrib["tests"]) == len(suite)
    assert reports.to_markdown(report).startswith(f"## Fencepost: {report.verdict}\n")
    assert bool(list(reports.error_lines(report))) == (report.exit_code != 0)
    assert all("\n" not in line for line in reports.error_lines(report))


@given(runs())
def test_no_regression_passes_but_by_name(
    run: tuple[list[Sample], dict[str, SampleReading], dict[str, SampleReading], dict[str, Any]],
) -> None:
    sample, now, before, options = run
    report = checking.compare(sample, now, before, OURS, **options)
    for one in sample:
        old = before.get(one.id)
        if old is None or old.text != one.sha256 or options["split"] not in (None, one.split) or one.meant is None:
            continue
        was, is_now = (checking.outcome(one, each, OURS) for each in (old, now[one.id]))
        worse = checking.RANK[str(is_now)] < checking.RANK[str(was)]
        kinds = [change.kind for change in report.changes if change.sample.id == one.id]
        assert kinds == ["allowed" if one.id in options["allowed"] else "regression"] if worse else True
        assert worse or not {"allowed", "regression"} & set(kinds)


def gate(path: Path, sample: Sequence[Sample] = SAMPLES, profile: Profile = OURS, **more: Any) -> checking.Report:
    return checking.run(sample, profile, path, **{"allowed": {}, **more})


def test_a_worse_parser_fails_by_the_labels_and_cannot_be_written_over(tmp_path: Path) -> None:
    path = tmp_path / "baseline.jsonl"
    gate(path)
    written = path.read_bytes()
    report = gate(path, profile=DIRECT)
    assert report.verdict == "failed" and [change.sample.id for change in report.of("regression")] == [
        "fenced",
        "comma",
    ]
    assert [change.sample.id for change in report.of("changed")] == ["unlabelled"]
    assert "right before, missed now: 1 value before, no value now" in reports.sentence(report.changes[0])
    assert gate(path, profile=DIRECT, update=True).verdict == "failed" and path.read_bytes() == written
    allowed = {"fenced": "the new parser reads whole texts", "comma": "the same"}
    report = gate(path, profile=DIRECT, allowed=allowed)
    assert report.verdict == "passed" and len(report.of("allowed")) == 2
    assert gate(path, profile=DIRECT, allowed=allowed, strict=True).reasons == [
        "1 response is read differently than before, without a label (--strict)"
    ]
    assert gate(path, profile=DIRECT, allowed=allowed, strict=True, update=True).written == "updated"
    assert gate(path, profile=DIRECT, allowed=allowed).unused == ("fenced", "comma")
    assert [change.kind for change in gate(path).changes] == ["fixed", "fixed", "changed"]


def test_silently_wrong_is_worse_than_missed(tmp_path: Path) -> None:
    sample = [Sample("a", "text", ({"a": 1},), "dev")]
    before, now = {"a": reading(sample[0], ())}, {"a": reading(sample[0], ({"a": 2},))}
    report = checking.compare(sample, now, before, OURS, allowed={})
    assert [(change.kind, change.was, change.now) for change in report.changes] == [("regression", "missed", "wrong")]


def test_other_responses_than_the_baselines_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "baseline.jsonl"
    gate(path)
    assert gate(path, SAMPLES[1:]).problems == ("'plain' is in the baseline, but not among the responses",)
    more = Sample("more", "{}", None, "dev")
    assert gate(path, [*SAMPLES, more]).problems == ("'more' is not in the baseline: see what is new, then --update",)
    other = replace(SAMPLES[0], text="{}")
    assert gate(path, [other, *SAMPLES[1:]]).problems == ("'plain' has another text than in the baseline",)
    assert (
        gate(path, [*SAMPLES, more], update=True).written == "updated" and gate(path, [*SAMPLES, more]).exit_code == 0
    )
    assert gate(path, []).exit_code == 2 and gate(path, [*SAMPLES, more], allowed={"x": "y"}).exit_code == 2
    with pytest.raises(BadLines, match="'plain' is used for several"):
        gate(path, [*SAMPLES, SAMPLES[0]])


def test_a_split_checks_its_half_of_a_whole_baseline(tmp_path: Path) -> None:
    path = tmp_path / "baseline.jsonl"
    gate(path, split="dev")
    assert len(path.read_text().splitlines()) == len(CASES)
    halves = [gate(path, split=split) for split in ("dev", "test")]
    assert sum(half.checked for half in halves) == len(CASES) and all(half.verdict == "passed" for half in halves)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{"id": "a", "text": "x", "verdict": "clean", "digest": "d", "values": null}\n' * 2,
            "line 2: the id 'a' occurs",
        ),
        ("{}\n", "line 1: no line of a baseline"),
        ("[]\n", "line 1: a JSON object is expected, not list"),
        ("{\n", "line 1: no JSON"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "baseline.jsonl"
    path.write_text(text)
    with pytest.raises(BadLines, match=words):
        samples.read_baseline(path)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (['{"id": "a", "text": "x"}', '{"id": "a", "text": "y"}'], "line 2: the id 'a' is on line 1 already"),
        (['{"id": "", "text": "x"}'], 'line 1: "id" and "text" must be texts'),
        (['{"id": "a", "text": "x", "expected": {}}'], 'line 1: "expected" must be the list'),
        (['{"id": "a", "text": "x", "split": "train"}'], 'line 1: "split" must be one of dev, test'),
        (['{"session": "s"}'], "line 1: neither a case"),
    ],
)
def test_cases_that_cannot_be_read_are_refused_with_their_line(rows: list[str], words: str) -> None:
    with pytest.raises(BadLines, match=words):
        samples.read(rows, "cases")


def test_an_export_of_labels_is_read_by_its_final_labels() -> None:
    row: dict[str, Any] = {"key": "k7", "position": 3, "raw": "{}", "expects": "one", "expected": {}, "cause": "c"}
    rows = [row | {"final": False, "expected": 1}, row | {"final": True}, row | {"position": 4, "final": False}]
    settled = {"expects": "several", "expected": [1, 2]}
    rows.append(row | {"position": 5, "final": False, "settled": settled})
    read = samples.read((json.dumps(each) for each in rows), "labels")
    assert [(one.id, one.meant) for one in read] == [("k7-3", ({},)), ("k7-4", None), ("k7-5", (1, 2))]


def test_hostile_ids_and_values_break_no_report(tmp_path: Path) -> None:
    hostile = "a|b`]\x00\x1b[31m<script>%0A::error::\ud800"
    sample = [Sample(hostile, "text", ({"a": 1},), "dev")]
    before, now = {hostile: reading(sample[0], ({"a": 1},))}, {hostile: reading(sample[0], ({"a": hostile},))}
    report = checking.compare(sample, now, before, OURS, allowed={})
    ET.fromstring(reports.to_xml(report).encode("utf-8"))
    json.loads(reports.to_json(report))
    texts = [reports.to_markdown(report), *reports.error_lines(report), reports.to_xml(report)]
    assert all("\x1b" not in text and "\x00" not in text for text in texts)
    assert "<script>" not in reports.to_markdown(report).replace("`", "") or "`" in reports.to_markdown(report)
    assert write(tmp_path / "x").exists()
