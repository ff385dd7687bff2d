"""A property: what the message about an unknown shape says to run next reads that file's answers, as it is said."""

from __future__ import annotations

import itertools
import json
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from webapp.dumps.reading import read, sniff
from webapp.dumps.records import Problem, Turn, UnknownFormat

NAMES = ["speech", "llm_words", "model said", "spoken.words", "utterance", "said"]
TELLING = ["reply", "llm_response", "model output", "generated.text", "completionText", "raw_output"]
"""names under which answers are read though no format knows the shape"""
WITHIN = ["{}", "data", "run.step", "turns[]", "log.calls[]"]
SHAPES = ["lines", "list", "document"]
PLACES = list(itertools.product(WITHIN, SHAPES))


def placed(names: list[str]) -> list[tuple[str, str, str]]:
    """Each place with one of the names, and each name in some of the places."""
    return [(name, *place) for name, place in zip(itertools.cycle(names), PLACES, strict=False)]


def answer(number: int) -> str:
    return f'Here is the plan for number {number}: {{"step": {number},}}'


def held(within: str, values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of a log whose answers lie `within` them: several in one where that is a list."""
    if within == "{}":
        return values
    *outer, last = within.split(".")
    groups = [values[:2], values[2:]] if last.endswith("[]") else [[value] for value in values]
    records = []
    for number, group in enumerate(groups):
        record: dict[str, Any] = {last.removesuffix("[]"): group if last.endswith("[]") else group[0]}
        for key in reversed(outer):
            record = {key: record}
        records.append({"run": f"r{number}", **record} if "run" not in record else record)
    return records


def written(shape: str, records: list[dict[str, Any]]) -> str:
    if shape == "lines":
        return "\n".join(map(json.dumps, records)) + "\n"
    return json.dumps(records if shape == "list" else {"made": "2025-01-01", "records": records})


@pytest.mark.parametrize(("name", "within", "shape"), placed(NAMES))
def test_what_is_said_works(name: str, within: str, shape: str, tmp_path: Path) -> None:
    values = [{"id": f"i{n}", "at": f"2025-01-0{n + 1}T00:00:00Z", name: answer(n)} for n in range(4)]
    path = tmp_path / "log.json"
    path.write_text(written(shape, held(within, values)))
    with pytest.raises(UnknownFormat) as raised:
        list(read(path, path.name))
    command = shlex.split(str(raised.value).splitlines()[1].partition(": ")[2])
    assert command[:2] == ["fencepost", "ingest"] and command[-1] == path.name
    mapping = dict(part.split("=", 1) for flag, part in itertools.pairwise(command) if flag == "--map")
    turns = [record for record in read(path, path.name, mapping=mapping) if isinstance(record, Turn)]
    assert [turn.raw for turn in turns if turn.kind == "response"] == [answer(n) for n in range(4)]


@pytest.mark.parametrize(("name", "within", "shape"), placed(TELLING))
def test_names_that_tell_are_read_and_said(name: str, within: str, shape: str, tmp_path: Path) -> None:
    values = [{"id": f"i{n}", "at": f"2025-01-0{n + 1}T00:00:00Z", name: answer(n)} for n in range(4)]
    path = tmp_path / "log.json"
    path.write_text(written(shape, held(within, values)))
    records = list(read(path, path.name))
    turns = [record for record in records if isinstance(record, Turn)]
    assert [turn.raw for turn in turns if turn.kind == "response"] == [answer(n) for n in range(4)]
    [problem] = [record for record in records if isinstance(record, Problem)]
    assert name in problem.reason and "--map raw=" in problem.reason


@pytest.mark.parametrize("other", ["gold_answer", "reference", "expected_output", "canonical_solution", "test_list"])
def test_what_an_answer_is_held_against_is_no_answer(other: str, tmp_path: Path) -> None:
    told = {
        "id": "i",
        other: ["The number is certainly a longer text."] if other.endswith("list") else "It is a longer text.",
    }
    path = tmp_path / "log.json"
    path.write_text(written("lines", [{**told, "bot_says": f"It is {n}."} for n in range(4)]))
    with pytest.raises(UnknownFormat, match=r"raw=\$\.bot_says"):
        list(read(path, path.name))
    path.write_text(written("lines", [told] * 4))
    with pytest.raises(UnknownFormat) as raised:
        list(read(path, path.name))
    assert "--map" not in str(raised.value)


def test_a_verdict_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(
        written("lines", [{"task_id": n, "result": "passed all of its tests", "passed": True} for n in range(4)])
    )
    with pytest.raises(UnknownFormat):
        list(read(path, path.name))


SAID_OF = [
    (
        '{"sender_id": "s", "slots": {}, "events": [{"event": "user", "text": "Which berth is free?"}]}',
        "Rasa's tracker",
    ),
    ('{"events": [{"message": "{\\"level\\": \\"INFO\\"}"}], "nextForwardToken": "f"}', "CloudWatch"),
    (
        '{"jsonrpc": "2.0", "method": "session/update", "params": {"text": "The tide tu"}}\n' * 2,
        "Agent Client Protocol",
    ),
    ("[Exporter] Export trace_id=trace_1, name=Berths\n" * 2, "Agents SDK"),
    ("[UserMessage('Which berth?'), AssistantMessage('Berth seven is free.')]", "What Python prints"),
    (
        'event: progress\ndata: {"percent": 10}\n\ndata: {"token": "eyJhb"}\n\n',
        "server-sent events of no known provider",
    ),
    ("2026-01-01 10:00:00 INFO app: response: <openai.ChatCompletion object at 0x7f1c>\n", "What Python prints"),
]


@pytest.mark.parametrize(("raw", "words"), SAID_OF, ids=[words for _, words in SAID_OF])
def test_a_known_tool_is_named_and_what_people_asked_is_not_advised(raw: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(raw)
    with pytest.raises(UnknownFormat, match=words) as refused:
        list(read(path, path.name))
    assert "fencepost ingest" not in str(refused.value)


def test_documents_with_their_vectors_are_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    path.write_text('{"id": "1", "text": "Dock five is long.", "embedding": [0.1, 0.2]}\n' * 2)
    with pytest.raises(UnknownFormat):
        list(read(path, path.name))


def test_a_folder_names_the_files_of_tools_and_tables_but_no_package(tmp_path: Path) -> None:
    path = tmp_path / "log"
    database = tmp_path / "my.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE runs (who TEXT, llm_said TEXT)")
        connection.execute("INSERT INTO runs VALUES ('a', 'Berth seven is free now.')")
    for raw, speaks in [(SAID_OF[0][0], True), (SAID_OF[3][0], True), ('{"dependencies": {"openai": "^5"}}', False)]:
        path.write_text(raw)
        with pytest.raises(UnknownFormat) as refused:
            list(read(path, path.name))
        assert refused.value.speaks is speaks
    with pytest.raises(UnknownFormat, match="--map table=runs") as refused:
        list(read(database, database.name))
    assert refused.value.speaks


@pytest.mark.parametrize(
    "written",
    [
        "<!doctype html><html><body><h1>Coverage</h1><p>All lines of it are covered.</p></body></html>",
        '<html><body><div class="user-menu">Log in here</div><div class="agent-list">Agents help</div></body></html>',
        '<dl><dt class="question">Is a berth free?</dt><dd class="answer">There are three.</dd></dl>',
        "<?xml version='1.0'?><computers><pc><user>ada at the pier</user><model>Model seven</model></pc></computers>",
        "#+TITLE: Notes\n\n* Buy a rope and a lamp\n",
        "model: gpt-4\nsystem: You are a pilot\nagent: one of many\n",
        "============ test session starts ============\ncollected 3 items\n",
    ],
    ids=["page", "classes of a page", "questions of a page", "a list of computers", "notes", "settings", "pytest"],
)
def test_pages_and_settings_of_others_are_passed_over_in_silence(tmp_path: Path, written: str) -> None:
    path = tmp_path / "page"
    path.write_text(written)
    with pytest.raises(UnknownFormat) as refused:
        list(read(path, path.name))
    assert not refused.value.speaks


def test_an_empty_table_of_messages_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE messages (body TEXT)")
        connection.execute("CREATE TABLE answer (body TEXT)")
    with pytest.raises(UnknownFormat) as refused:
        list(read(path, path.name))
    assert not refused.value.speaks


def test_a_column_in_which_several_speak_is_not_advised_as_answers(tmp_path):
    rows = [{"From": "Ann", "from": name, "body_": "it is as I said, is it not"} for name in ("Ann", "Bo")]
    with pytest.raises(UnknownFormat) as refused:
        sniff_text("\n".join(map(json.dumps, rows)), tmp_path)
    assert "fencepost ingest" not in str(refused.value)


WEAK = {
    "a thought": '{"step": 1, "reflection": "the results are sufficient for now"}\n' * 2,
    "what a tool was given": '{"tool": "find", "args": {"text": "a berth that is free"}}\n' * 2,
    "what a user said": '{"posted": "human", "words": "is the berth of a model free"}\n' * 2,
    "one record of many": '{"tick": 1}\n' * 3 + '{"payload": {"said": "the berth is free now"}}\n',
    "a dialogue": '{"body_of_model": "Me: is it free?\\nJones: it is free"}\n' * 2,
}


@pytest.mark.parametrize("written", WEAK.values(), ids=WEAK)
def test_a_weak_guess_is_not_advised(written, tmp_path):
    with pytest.raises(UnknownFormat) as refused:
        sniff_text(written, tmp_path)
    assert "fencepost ingest" not in str(refused.value)


def test_of_texts_that_no_name_tells_the_places_are_named(tmp_path):
    with pytest.raises(UnknownFormat, match=r"No name in it says what a model wrote\. .* \$\.reflection "):
        sniff_text(WEAK["a thought"], tmp_path)


def test_where_several_speak_in_lists_of_records_it_is_said(tmp_path):
    turns = [{"speaker": name, "text": "the berth of a model is free"} for name in ("Ann", "Bo")]
    with pytest.raises(UnknownFormat, match=r"If models wrote all of it, .*agent=\$\.speaker"):
        sniff_text(json.dumps([{"call": 1, "turns": turns}, {"call": 2, "turns": turns}]), tmp_path)


def test_an_answer_that_is_an_object_is_advised_as_a_whole(tmp_path):
    record = {"user_text": "stop", "intent_json": {"intent": "STOP", "speech": "I stop at once now"}}
    with pytest.raises(UnknownFormat, match=r"raw=\$\.intent_json' "):
        sniff_text("\n".join(map(json.dumps, [record] * 2)), tmp_path)


CHOICES = ["It is the seventh", "It is the eighth"]
OTHERS = {
    "a chat of people by their handles": {"messages": [{"handle": "ada", "msg": "is it free?", "userId": 1}]},
    "activities of people": {"activities": [{"type": "message", "from": {"role": 1}, "text": "is it free?"}]},
    "requests with a turn": [{"turnID": "1", "type": "request", "payload": {"url": "/berths"}}],
    "a workflow without a model": {"data": {"resultData": {"runData": {"Start": [{"data": {"main": []}}]}}}},
    "an exam": [{"question": "Which berth is free?", "choices": CHOICES, "answer": CHOICES[0]}],
    "an exam with letters": [{"stem": "Which?", "choices": [{"label": "A", "text": CHOICES[0]}], "answerKey": "A"}],
    "an exam's query": [{"query": "Which berth is free?", "choices": CHOICES, "gold": [0]}],
}


@pytest.mark.parametrize("value", OTHERS.values(), ids=OTHERS)
def test_what_only_looks_like_a_known_log_is_not_taken_for_one(value, tmp_path):
    with pytest.raises(UnknownFormat):
        sniff_text(json.dumps(value), tmp_path)


def test_a_heading_alone_is_no_log_of_aichat(tmp_path):
    with pytest.raises(UnknownFormat):
        sniff_text("# CHAT: notes of a meeting\n\nBerth seven is free.\n", tmp_path)


def test_tables_of_the_same_names_are_no_database_of_autogen_studio(tmp_path):
    path = tmp_path / "club.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("message", "run", "session", "team"):
            connection.execute(f"CREATE TABLE {table} (id, body)")
            connection.execute(f"INSERT INTO {table} VALUES (1, 'training at eight')")
    with pytest.raises(UnknownFormat):
        sniff(path, path.name)


def sniff_text(written, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(written)
    return sniff(path, path.name)
