"""What no format reads is refused in words, and what they say to run next reads that file's answers, as it is said."""

from __future__ import annotations

import itertools
import json
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.conftest import Reader
from tests.parsing import _cases
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


SAID = [answer(number) for number in range(4)]
ROLLED = {
    "by_who_debates": {f"Round {n}": {"Agent Left": SAID[2 * n], "Agent Right": SAID[2 * n + 1]} for n in range(2)},
    "by_model": {
        topic: {"gpt-4o": {"first": SAID[n], "last": SAID[n + 1]}, "claude-5": {"first": "No.", "last": "Yes."}}
        for topic, n in (("Ports", 0), ("Piers", 2))
    },
    "by_prompt": {f"User:\nWhich is it, {n}?\nAssistant:": [SAID[2 * n], SAID[2 * n + 1]] for n in range(2)},
    "thoughts_of_players": [
        {"player_type": "human", "thinking": "What a man has thought of it"},
        *({"player_type": "A cautious player", "thinking": said} for said in SAID),
    ],
    "code_of_steps": {"steps": [{"code": said, "observation": {"url": "https://x.example"}} for said in SAID]},
}


@pytest.mark.parametrize("rolled", ROLLED)
def test_logs_that_people_rolled_themselves_are_read_as_is_said(rolled: str, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(ROLLED[rolled]))
    with pytest.raises(UnknownFormat) as raised:
        list(read(path, path.name))
    command = shlex.split(str(raised.value).splitlines()[1].partition(": ")[2])
    mapping = dict(part.split("=", 1) for flag, part in itertools.pairwise(command) if flag == "--map")
    turns = [record for record in read(path, path.name, mapping=mapping) if isinstance(record, Turn)]
    assert [turn.raw for turn in turns if turn.kind == "response" and turn.raw not in ("No.", "Yes.")] == SAID


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


def test_a_folder_names_the_files_of_tools_and_tables_but_no_package(tmp_path: Path) -> None:
    path = tmp_path / "log"
    database = tmp_path / "my.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE runs (who TEXT, llm_said TEXT)")
        connection.execute("INSERT INTO runs VALUES ('a', 'Berth seven is free now.')")
    rasa = '{"sender_id": "s", "slots": {}, "events": [{"event": "user", "text": "Which berth is free?"}]}'
    exporter = "[Exporter] Export trace_id=trace_1, name=Berths\n" * 2
    for raw, speaks in [(rasa, True), (exporter, True), ('{"dependencies": {"openai": "^5"}}', False)]:
        path.write_text(raw)
        with pytest.raises(UnknownFormat) as refused:
            list(read(path, path.name))
        assert refused.value.speaks is speaks
    with pytest.raises(UnknownFormat, match="--map table=runs") as refused:
        list(read(database, database.name))
    assert refused.value.speaks


def test_an_empty_table_of_messages_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE messages (body TEXT)")
        connection.execute("CREATE TABLE answer (body TEXT)")
    with pytest.raises(UnknownFormat) as refused:
        list(read(path, path.name))
    assert not refused.value.speaks


def test_tables_of_the_same_names_are_no_database_of_autogen_studio(tmp_path):
    path = tmp_path / "club.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("message", "run", "session", "team"):
            connection.execute(f"CREATE TABLE {table} (id, body)")
            connection.execute(f"INSERT INTO {table} VALUES (1, 'training at eight')")
    with pytest.raises(UnknownFormat):
        sniff(path, path.name)


@pytest.mark.parametrize("case", _cases.read(Path(__file__).with_name("refusals.md")), ids=lambda case: case.name)
def test_case(case: _cases.Case, got: Reader) -> None:
    with pytest.raises(UnknownFormat) as refused:
        got(case.raw, "notes.txt")
    said = str(refused.value)
    assert [words for words in case.values if words not in said] == []
    assert "unadvised" not in case.done or "fencepost ingest" not in said
    assert "unmapped" not in case.done or "--map" not in said
    assert "silent" not in case.done or not refused.value.speaks


def test_a_file_that_is_called_a_table_is_one_whatever_its_columns(got: Reader) -> None:
    rows = 'model,id,sql\nKimi,1,SELECT COUNT(*) FROM berths\nKimi,2,"SELECT MAX(length)\nFROM ferries"\n'
    told = "a table of no known shape.*'sql'.*\n.*--map 'raw=[$].sql' rows.csv\n.*2 answers"
    with pytest.raises(UnknownFormat, match=told):
        got(rows, "rows.csv")


@pytest.mark.parametrize("content", ["\0\0\0", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_text(content: str | bytes, got: Reader) -> None:
    with pytest.raises(UnknownFormat, match="is not JSON"):
        got(content)
