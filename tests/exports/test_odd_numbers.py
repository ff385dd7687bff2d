"""NaN, the infinities and 1e999 leave in every format as marked texts, and are read back as they were."""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import re
from typing import Any

import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.exports import made
from tests.parsing import _cases
from webapp import installation, jsontext
from webapp.exports import base
from webapp.exports.session import document
from webapp.parsing import parse
from webapp.web import templating
from webapp.web.turns import reports

ODD = st.recursive(
    st.sampled_from([math.nan, math.inf, -math.inf, 1.5, 1, None, True, "NaN"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", jsontext.MARK, f"$${jsontext.MARK}"]), inner, max_size=2),
    ),
    max_leaves=6,
)


def strict(text: str) -> Any:
    """`text` read as by a reader that knows nothing but JSON."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON: {text[:200]}"))


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def written(name: str, value: Any) -> bytes:
    history = ({"action": "put", "judgement": "wrong", "said": {"expected": value}},)
    responses = [made.labelled('{"a": NaN}', made.said(value, history=history))]
    return b"".join(base.find(name, "labels").pieces(iter(responses), made.ABOUT))


@given(ODD)
@settings(max_examples=60)
def test_every_line_of_json_is_json_and_comes_back(value: Any) -> None:
    row = strict(written("jsonl", value).decode())
    assert same(jsontext.unmarked(row["expected"]), value)
    pair = strict(written("few-shot", value).decode())
    assert same(jsontext.unmarked(pair["expected"]), [value])
    chat = strict(written("fine-tuning", value).decode())
    assert same(jsontext.unmarked(strict(chat["messages"][2]["content"])), value)
    strict(written("gate", value).decode())
    cells = next(csv.DictReader(io.StringIO(written("csv", value).decode(), newline="")))
    assert same(jsontext.unmarked(strict(cells["expected"].removeprefix("'"))), value)
    strict(cells["history"])


@given(ODD)
@settings(max_examples=30)
def test_cases_and_pytest_files_hold_json_and_compare_right(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    path = tmp_path_factory.mktemp("cases") / "labelled.md"
    path.write_bytes(written("cases", value))
    strict(path.read_text().split("\n.\n")[2])
    for line in re.findall(r"^- history: (.*)$", path.read_text(), re.MULTILINE):
        strict(ast.literal_eval(f"'{line}'"))
    assert same(_cases.read(path)[0].values, [value])
    python: dict[str, Any] = {}
    exec(compile(written("pytest", value), "test_responses.py", "exec"), python)
    expected = python["CASES"][0].values[1]
    strict(expected)
    assert same(python["unmarked"](json.loads(expected)), [value])
    assert python["canonical"](python["unmarked"](json.loads(expected))) == python["canonical"]([value])


def test_reports_and_dumps_hold_json() -> None:
    app = Flask("fencepost", template_folder=str(installation.resource("templates")))
    app.jinja_options = templating.OPTIONS
    templating.init_app(app)
    turn = made.turn('{"a": [NaN, 1e999, -Infinity]}', failed=True, home="direct")
    report = b"".join(base.find("report", "sessions").pieces(made.session(turn), made.ABOUT)).decode()
    blocks = re.findall(r"```json\n(.*?)\n```", report, re.DOTALL)
    trace = parse(turn.raw)
    with app.app_context():
        blocks += re.findall(r"```json\n(.*?)\n```", reports.markdown(turn.raw, trace, []), re.DOTALL)
    assert len(blocks) >= 2 and all(jsontext.MARK in block and strict(block) for block in blocks)
    assert strict(reports.case(turn.raw, trace).split("\n.\n")[2])["a"][1] == {jsontext.MARK: "Infinity"}
    entry = {"odd": [math.nan, math.inf]}
    dump = strict(b"".join(document("s", "2026-11-22T00:00:00", 1, [entry], {"format": "x"})).decode())
    assert dump["entries"][0]["odd"][1] == {jsontext.MARK: "Infinity"}


def test_a_table_of_parquet_holds_json() -> None:
    from pyarrow import parquet

    row = parquet.read_table(io.BytesIO(written("parquet", math.nan))).to_pylist()[0]
    assert strict(row["expected"]) == {jsontext.MARK: "NaN"} and strict(row["history"])
