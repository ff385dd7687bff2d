"""The formats of labelled responses: each is read back by what reads such files, and its tests are run."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.exports import made
from tests.parsing import _cases
from tests.pytest_run import run_pytest
from webapp import jsontext
from webapp.exports import base
from webapp.parsing import parse


def written(name: str) -> bytes:
    return b"".join(base.find(name, "labels").pieces(iter(made.responses()), made.ABOUT))


def test_each_label_is_one_line_with_all_that_was_said() -> None:
    rows = [jsontext.loads(line) for line in written("jsonl").splitlines()]
    assert len(rows) == 7
    assert rows[0]["raw"] == made.BROKEN and rows[0]["expected"] == made.MEANT
    assert rows[0]["history"] == [{"action": "put", "judgement": "unsure"}]
    assert [row["final"] for row in rows[-2:]] == [False, True] and rows[-1]["settled"]["author"] == "Cy"


def test_csv_reads_back_and_nothing_in_it_is_a_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv").decode(), newline="")))
    assert rows[0]["raw"] == made.BROKEN and json.loads(rows[0]["expected"]) == made.MEANT
    assert rows[4]["note"] == '\'=cmd()\n"""' and "⟨U+D800⟩" in rows[4]["raw"]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row.values())


def test_csv_shows_what_nobody_can_see() -> None:
    note = "a\u202eb\u200b\x1b[31m\n\tc"
    rows = base.find("csv", "labels").pieces([made.labelled("{}", made.said(note=note))], made.ABOUT)
    assert "a⟨U+202E⟩b⟨U+200B⟩␛[31m\n\tc" in b"".join(rows).decode()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_cell_that_begins_as_a_formula_is_made_text(text: str) -> None:
    from webapp.exports.formats.tables import safe

    assert safe(text) == f"'{text}" and safe("plain = text") == "plain = text"


def test_parquet_reads_back() -> None:
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(written("parquet")))
    rows = table.to_pylist()
    assert rows[0]["raw"] == made.BROKEN and json.loads(rows[0]["expected"]) == made.MEANT
    assert rows[1]["expected"] is None and rows[1]["expects"] == "none"
    assert b"all labels" in table.schema.metadata[b"fencepost"]


def test_cases_are_read_by_the_reader_of_our_own_cases(tmp_path: Path) -> None:
    path = tmp_path / "labelled.md"
    path.write_bytes(written("cases"))
    cases = _cases.read(path)
    told = [response for response in made.responses() if response.final.expects != "unknown"]
    assert [case.raw for case in cases] == [response.raw for response in told]
    assert cases[0].values == [made.MEANT] and cases[1].values == [] and cases[1].done == ["none"]
    assert [parse(cases[0].raw).verdict] == cases[0].done


def test_chats_hold_the_response_and_what_was_meant() -> None:
    chats = [json.loads(line) for line in written("fine-tuning").splitlines()]
    assert [message["role"] for message in chats[0]["messages"]] == ["system", "user", "assistant"]
    assert json.loads(chats[0]["messages"][2]["content"]) == made.MEANT and chats[0]["metadata"]["author"] == "Ada"


def test_the_pytest_file_is_green_for_the_profile_that_is_right_and_red_for_one_that_is_wrong(tmp_path: Path) -> None:
    right = [response for response in made.responses() if response.position in (3, 4, 5, 8)]
    path = tmp_path / "test_responses.py"
    path.write_bytes(b"".join(base.find("pytest", "labels").pieces(iter(right), made.ABOUT)))
    for profile, code, words in (("fencepost", 0, "4 passed"), ("windlass-strict", 1, "3 failed, 1 passed")):
        done = run_pytest(tmp_path, "-q", path.name, FENCEPOST_PROFILE=profile)
        assert done[0] == code and words in done[1], done[1]


@pytest.mark.parametrize("name", ["pytest", "cases"])
def test_what_is_left_out_is_counted_with_the_reasons(name: str) -> None:
    unsaid = [made.labelled("{", made.said(expects=None), position=place) for place in (9, 10)]
    responses = [*made.responses(), *unsaid, made.labelled("[", None, position=11)]
    about = replace(made.ABOUT, left_out=Counter())
    text = b"".join(base.find(name, "labels").pieces(responses, about)).decode()
    assert text.endswith(
        "4 labelled responses without a known value are left out: 1 labelled as undecidable;"
        " 1 on which people disagree; 2 without an expected value.\n"
    )
    about = replace(made.ABOUT, left_out=Counter())
    whole = b"".join(base.find(name, "labels").pieces(made.responses()[:2], about)).decode()
    assert whole.endswith("No labelled response is left out.\n")


@pytest.mark.parametrize("name", ["few-shot", "fine-tuning"])
def test_formats_without_comments_count_what_they_leave_out(name: str) -> None:
    about = replace(made.ABOUT, left_out=Counter())
    list(base.find(name, "labels").pieces(made.responses(), about))
    assert about.left_out == {"labelled as undecidable": 1}


def test_the_pytest_file_takes_hostile_text_and_somebody_elses_parser(tmp_path: Path) -> None:
    path = tmp_path / "test_responses.py"
    path.write_bytes(written("pytest"))
    (tmp_path / "mine.py").write_text("def nothing(text):\n    return []\n")
    _, said = run_pytest(tmp_path, "-q", path.name, FENCEPOST_PARSER="mine:nothing")
    assert "4 failed, 1 passed" in said, said
