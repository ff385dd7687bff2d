"""What requests declare, by the names of each provider; those of dumps and spans are among the cases of formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.parsing import _cases
from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.reading import read
from webapp.dumps.records import Turn

REQUESTS = [
    tuple(map(json.loads, pair.split("\n", 1)))
    for pair in Path(__file__).with_name("declarations.md").read_text("utf-8").split("\n\n")[2:]
]
"""requests with what each declares"""


@pytest.mark.parametrize(("request_body", "declared"), REQUESTS)
def test_a_request_declares(request_body: dict[str, Any], declared: dict[str, Any] | None) -> None:
    assert declared_in(request_body) == declared


CARRIERS = (
    *("langsmith", "langfuse", "mlflow", "phoenix", "weave", "braintrust", "inspect_ai", "har", "vcr", "http_log"),
    *("otlp", "jaeger", "nock"),
)


@pytest.mark.parametrize("name", CARRIERS)
def test_a_carrier_declares(name: str, tmp_path: Path) -> None:
    """As the small files of its format's cases have it."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    found: list[dict[str, Any]] = []
    for number, case in enumerate(_cases.read(Path(__file__).parent / f"formats/cases/{name}.md")):
        (path := tmp_path / str(number)).write_text(case.raw)
        turns = [turn for turn in read(path, "dump") if isinstance(turn, Turn) and turn.kind == "tool_call"]
        found += [turn.declared for turn in turns if turn.declared]
    (declared, *_) = [each for each in found if each.get("max_tokens") == 9]
    assert declared["tools"] == [{"name": "t", "schema": schema}]
    assert declared.get("response_format", {"schema": schema})["schema"] == schema
