"""Real files, samples and examples: formats told exactly, entries and answers word for word, our own dump too."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.conftest import Got, gather
from webapp.contracts.held import Holder
from webapp.dumps.reading import sniff
from webapp.dumps.records import UnknownFormat
from webapp.parsing import parse

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


FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "samples"
MANIFEST = FOLDER / "manifest.json"
SAMPLES: list[dict[str, Any]] = json.loads(MANIFEST.read_text("utf-8")) if MANIFEST.exists() else []


def hashes(raw: str) -> set[str]:
    """The hash of a text, and that of its JSON with sorted keys: a call's arguments may be an object in the source."""
    texts = [raw]
    with suppress(ValueError):
        texts.append(json.dumps(json.loads(raw), sort_keys=True, ensure_ascii=False, separators=(",", ":")))
    return {hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts}


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["file"] for sample in SAMPLES])
def test_every_answer_is_read_and_none_is_made_up(sample):
    path = FOLDER / sample["file"]
    found = gather(path, path.name)
    turns = [turn for turns in found.turns for turn in turns if turn.duplicate_of is None]
    answers = [(turn.kind, hashes(turn.raw or "")) for turn in turns if turn.kind == "tool_call" or _said(turn)]
    assert len(answers) == len(sample["expected"])
    for expected in sample["expected"]:
        wanted = {expected[key] for key in ("sha256", "canonical_sha256") if key in expected}
        match = next(index for index, (kind, said) in enumerate(answers) if kind == expected["kind"] and said & wanted)
        answers.pop(match)
    assert sample["sessions"] in (None, len(found.starts))


def _said(turn: Any) -> bool:
    return turn.kind == "response" and bool(turn.raw)


FILES = sorted(path for path in EXAMPLES.iterdir() if path.suffix in (".json", ".jsonl"))


def verdicts(name: str, profile: str) -> list[str]:
    turns = gather(EXAMPLES / name, name).only
    written = [turn for turn in turns if turn.written_by_model and turn.duplicate_of is None]
    return [parse(turn.raw or "", profile).verdict for turn in written]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_is_read_without_a_problem(path):
    found = gather(path, path.name)
    assert len(found.starts) == 1
    assert found.problems == []
    assert all(turn.sent_at is None or turn.sent_at.year == 2025 for turn in found.only)


def test_the_readme_names_every_example():
    assert set(re.findall(r"`([\w-]+\.jsonl?)`", (EXAMPLES / "README.md").read_text())) == {path.name for path in FILES}


def test_closers_too_many_are_failed_at_home_and_read_by_the_next_version():
    name = "agent-never-ran-its-code.json"
    assert verdicts(name, "windlass-strict") == ["none", "failed", "none", "none", "failed", "none", "none"]
    assert verdicts(name, "windlass-balanced").count("repaired") == 2
    turns = gather(EXAMPLES / name, name).only
    assert len(turns) == 52
    assert not [turn for turn in turns if turn.kind == "tool_result"]
    assert sorted({turn.phase for turn in turns if turn.kind == "response"}) == [
        "report",
        "solve",
        "understand",
        "verify",
    ]


def test_twenty_two_errors_are_eleven_failures_of_eleven_responses():
    name = "python-taken-for-tool-calls.json"
    errors = [turn for turn in gather(EXAMPLES / name, name).only if turn.kind == "error"]
    assert Counter(turn.duplicate_of is None for turn in errors) == {True: 11, False: 11}
    assert len({turn.answers for turn in errors}) == 11
    assert Counter(turn.sounding for turn in errors) == {0: 8, 1: 8, 2: 6}


def test_a_conversation_with_its_tools_breaks_their_contract():
    turns = gather(EXAMPLES / "flights-off-their-contract.json", "flights-off-their-contract.json").only
    held = Holder().answer([turn for turn in turns if turn.kind == "tool_call"])
    assert [contract.state for contract in held] == [
        *("schema_mismatch", "kept", "unknown_name", "schema_mismatch", "kept"),
    ]
    assert [one.path for one in held[0].mismatches] == ["$.passengers", "$.cabin", "$", "$"]


def test_the_circle_loses_a_model():
    name = "three-models-in-a-circle.json"
    assert verdicts(name, "fire-circle").count("failed") == 1
    turns = [turn for turn in gather(EXAMPLES / name, name).only if turn.kind == "response"]
    assert [Counter(turn.round for turn in turns)[number] for number in (1, 2, 3)] == [3, 3, 2]


def test_the_plans_and_the_evaluation():
    assert verdicts("plans-among-log-lines.json", "master-scored") == ["extracted", "extracted", "failed", "extracted"]
    found = verdicts("evaluation-with-raw-newlines.json", "four-tier")
    assert found == ["clean", "extracted", "repaired", "repaired", "failed"]


def test_the_clean_session_is_clean():
    assert set(verdicts("support-desk-clean.jsonl", "direct")) == {"clean"}
