"""Every real file: its format is told exactly, its entries come out unchanged, our own dump of it reads the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.dumps.conftest import Got, gather
from webapp.dumps.reading import sniff
from webapp.dumps.records import UnknownFormat

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
OTHERWISE = {"metagpt": "prompt_map", "pydantic_ai": "http_log", "jsontestsuite": None}
"""the formats of folders that are not called so"""
FORMATS = {
    path.relative_to(CORPUS).as_posix(): OTHERWISE.get(path.parent.name, path.parent.name)
    for path in sorted(CORPUS.glob("*/*"))
    if path.name != "LICENSE"
}
FORMATS |= {name: "openai" for name in FORMATS if name == "langfuse/chat_ml_json.json"}
EXAMPLE_FORMATS = {
    "agent-never-ran-its-code.json": "windlass",
    "evaluation-with-raw-newlines.json": "fencepost",
    "flights-off-their-contract.json": "openai",
    "invoices-one-a-line.jsonl": "responses",
    "plans-among-log-lines.json": "fencepost",
    "python-taken-for-tool-calls.json": "windlass",
    "support-desk-clean.jsonl": "openai",
    "three-models-in-a-circle.json": "fencepost",
}
KNOWN = sorted(name for name, kind in FORMATS.items() if kind)


def test_every_corpus_file_is_told_exactly(shared):
    assert len(FORMATS) > 25
    assert {name: told(CORPUS / name) for name in FORMATS} == FORMATS


def test_every_example_is_told_exactly():
    files = {path.name: path for path in EXAMPLES.iterdir() if path.is_file() and path.suffix != ".md"}
    assert {name: told(path) for name, path in files.items()} == EXAMPLE_FORMATS


def told(path: Path) -> str | None:
    """The format of a file, for which its name is not needed."""
    try:
        found = sniff(path, path.name)
    except UnknownFormat:
        return None
    assert sniff(path, "x") == found
    return found


@pytest.mark.parametrize("name", KNOWN)
def test_turns_are_in_order_entries_as_they_came_and_our_own_dump_reads_the_same(shared, name, tmp_path):
    found = gather(shared / "corpus" / name, name)
    in_order(found)
    if name in LISTED:
        unchanged(shared, name, found)
    for session, start in enumerate(found.starts[:20]):
        path = tmp_path / f"{session}.json"
        path.write_bytes(found.dumped(session))
        again = gather(path, path.name)
        assert again.starts == [start]
        assert again.turns[0] == found.turns[session]
        assert again.entries() == found.entries(session)


def in_order(found: Got) -> None:
    for turns in found.turns:
        entries = [turn.entry for turn in turns]
        assert entries == sorted(entries)
        assert sorted(set(entries)) == list(range(len(set(entries))))
        assert all((turn.source is not None) == (turn.entry not in entries[:at]) for at, turn in enumerate(turns))
        assert all(turn.sent_at is None or turn.sent_at.utcoffset().total_seconds() == 0 for turn in turns)


def unchanged(shared: Path, name: str, found: Got) -> None:
    """The entries come out as they came in."""
    entries = [found.entries(session) for session in range(len(found.starts))]
    if FORMATS[name] == "http_log":
        entries = [[entry for session in entries for entry in session]]
        assert sorted(map(json.dumps, entries[0])) == sorted(map(json.dumps, entries_of(shared, name)[0]))
    else:
        assert entries == entries_of(shared, name)


def entries_of(shared: Path, name: str) -> list[list[object]]:
    """What stands in a file, session by session, read without a line of the program."""
    content = (shared / "corpus" / name).read_text("utf-8")
    if name.endswith(".jsonl"):
        return [[json.loads(line) for line in content.splitlines() if line.strip()]]
    value = json.loads(content)
    if name.startswith("tau_bench"):
        return [item["traj"] for item in value]
    if name.startswith("inspect_ai"):
        return [sample["messages"] for sample in value["samples"]]
    if name.startswith("langfuse") and "observations" in value:
        return [sorted(value["observations"], key=lambda item: item["startTime"])]
    if name.startswith("langfuse"):
        return [value["messages"]]
    if name.startswith("metagpt"):
        return [[{"prompt": prompt, "response": response} for prompt, response in value.items()]]
    history = [message for message in value["history"] if not message.get("is_demo")]
    return [[*history, *value["trajectory"]]]


LISTED = [
    name
    for name in KNOWN
    if not name.startswith(("toolbench", "otlp")) and not name.endswith(".eval") and "edge_cases" not in name
]


def test_every_response_of_tau_bench_stands_word_for_word(shared):
    name = "tau_bench/gpt-4o-airline.first60.json"
    wanted: Counter[str] = Counter()
    for messages in entries_of(shared, name):
        for message in messages:
            if message["role"] == "assistant":
                wanted.update([message["content"]] if message["content"] else [])
                wanted.update(call["function"]["arguments"] for call in message.get("tool_calls") or [])
    found = gather(shared / "corpus" / name, name)
    assert Counter(turn.raw for turns in found.turns for turn in turns if turn.written_by_model) == wanted
    assert [start.external_id for start in found.starts[:2]] == ["0/0", "1/0"]
