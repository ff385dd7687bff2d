"""Choosing a format, refusing what is none, and what holds for every dump."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from webapp.dumps.budget import BadDump
from webapp.dumps.formats import chats
from webapp.dumps.messages.named_texts import spoken
from webapp.dumps.reading import known_formats, read, sniff
from webapp.dumps.records import Problem, Turn, UnknownFormat
from webapp.plugins import help_of

ENTRY = '{"node_type": "agent", "role": "agent", "content": "x"}'
DUMP = '{"session_id": "s", "entries": [' + ENTRY + "]}"


def test_every_format_has_help_and_says_its_shapes():
    assert set(known_formats()) >= {"windlass", "fencepost", "openai", "responses"}
    assert all(help_of("webapp.dumps.formats").values())
    assert all(plugin.shapes for plugin in known_formats().values())


def test_the_name_of_a_format(tmp_path):
    path = tmp_path / "x"
    path.write_text(DUMP)
    assert sniff(path, "x.json") == "windlass"


@pytest.mark.parametrize("content", ["", " \n\t", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_an_empty_dump(got, content):
    with pytest.raises(BadDump) as caught:
        got(content)
    assert (caught.value.reason, caught.value.at) == ("the log is empty", "byte 0")


@pytest.mark.parametrize(
    ("text", "name"),
    [("It said this and that.\n", "responses"), ("First answer\n---\nSecond answer\n", "separated")],
)
def test_a_plain_text_is_told_how_it_can_be_read(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(text)
    with pytest.raises(UnknownFormat) as caught:
        list(read(path, path.name))
    assert f"--format {name}" in str(caught.value)
    responses = [record.raw for record in read(path, path.name, format=name) if isinstance(record, Turn)]
    assert responses == (["First answer", "Second answer"] if name == "separated" else [text])


def test_what_to_run_next_is_a_guess_at_a_mapping(got):
    record = {"run": "a", "steps": [{"out": "a long text that somebody wrote"}, {"out": "another one of them"}]}
    with pytest.raises(UnknownFormat) as caught:
        got("\n".join([json.dumps(record)] * 2), "my log.jsonl")
    command = "fencepost ingest --map 'each=$.steps[*]' --map 'raw=$.out' 'my log.jsonl'"
    _, advice, tried = str(caught.value).split("\n")
    assert advice == f"Read it by a mapping: {command}"
    assert "4 answers, as 'a long text that somebody wrote' and 'another one of them'" in tried


@pytest.mark.parametrize(
    ("content", "at", "reason"),
    [
        ('{"session_id": "s", "entries": 3}', "entries", "expected a list, found a number"),
        ('{"session_id": "s", "dumped_at": "x"}', "entries", "entries missing"),
        ('{"session_id": "s", "dumped_at": "x", "entries', "entries", "entries missing"),
    ],
)
def test_a_dump_of_which_nothing_can_be_read(got, content, at, reason):
    with pytest.raises(BadDump) as caught:
        got(content)
    assert caught.value.at == at
    assert reason in caught.value.reason


def test_a_format_that_is_not_there(got):
    with pytest.raises(UnknownFormat, match=r"no format 'cuneiform'; there are: .*aider, .*anthropic, .*archive, "):
        got(DUMP, "x", "cuneiform")


def test_a_format_that_does_not_fit_finds_nothing(got):
    with pytest.raises(BadDump):
        got("hello", "x", "windlass")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_every_unicode_encoding_is_recognised(got, encoding):
    text = json.dumps({"session_id": "s", "entries": [{"node_type": "agent", "content": "é 😀"}]}, ensure_ascii=False)
    assert got(text.encode(encoding)).only[0].raw == "é 😀"


def test_bytes_that_are_no_utf_8_are_kept_and_their_place_is_said(got):
    found = got(b'{"session_id": "s", "entries": [{"node_type": "agent", "content": "caf\xe9"}]}')
    assert found.only[0].raw == "caf\udce9"
    assert found.problems == [Problem("byte 70", found.problems[0].reason)]
    assert "not valid UTF-8" in found.problems[0].reason


def test_a_lone_surrogate_in_utf_16_is_kept(got):
    data = '{"session_id": "s", "entries": [{"node_type": "agent", "content": "\ud800"}]}'.encode(
        "utf-16", "surrogatepass"
    )
    assert got(data).only[0].raw == "\ud800"


def test_utf_16_cut_in_a_character_keeps_what_came_before(got):
    found = got(DUMP.encode("utf-16") + b"\x20")
    assert len(found.only) == 1
    assert ["not valid UTF-16" in problem.reason for problem in found.problems] == [True]


def test_a_problem_comes_after_its_session_s_start(tmp_path):
    path = tmp_path / "x"
    path.write_text('{"session_id": "s", "entries": [3, ' + ENTRY + "]}")
    assert [type(record).__name__ for record in read(path, "x")] == ["SessionStart", "Problem", "Turn"]


def test_a_first_line_longer_than_the_head_is_still_a_line(got):
    lines = [json.dumps({"messages": [{"role": "user", "content": "x" * 400_000}], "id": name}) for name in "ab"]
    assert got("\n".join(lines), "x.jsonl").ids == ["a", "b"]


def test_a_first_entry_longer_than_the_head_does_not_hide_the_format(got):
    entry = {"node_type": "agent", "content": "x" * 400_000}
    assert len(got(json.dumps({"session_id": "s", "entries": [entry, entry]})).only) == 2


def test_more_space_than_is_looked_at_is_not_called_empty(got):
    with pytest.raises(UnknownFormat, match="begins with more empty space"):
        got(" " * 300_000 + DUMP)


def test_a_first_line_that_is_no_json_does_not_hide_the_others(got):
    found = got("started logging\n" + ENTRY + "\n" + ENTRY + "\n", "run.jsonl")
    assert len(found.only) == 2
    assert [problem.at for problem in found.problems] == ["line 1"]


def test_reading_closes_the_file_when_left_early(tmp_path):
    path = tmp_path / "x"
    path.write_text(DUMP)
    records = read(path, "x")
    next(records)
    records.close()
    path.unlink()


@pytest.mark.parametrize(
    "line",
    [
        {"data": {"type": {"x": 1}}},
        {"type": "content_block_start", "index": {"x": 1}, "content_block": {"type": "text", "text": "A"}},
        {"object": "chat.completion.chunk", "choices": [{"index": ["x"], "delta": {"content": "A"}, "text": "A"}]},
        {"contentBlockIndex": {"x": 1}, "delta": {"text": "A"}},
        {"candidates": [{"index": {"x": 1}, "content": {"parts": [{"text": "A"}]}}]},
    ],
)
def test_an_object_where_a_name_or_a_number_should_be(got, line):
    for value in (line, {"request": {"messages": [{"role": "user", "content": "q"}]}, "response": json.dumps(line)}):
        with suppress(UnknownFormat, BadDump):
            got(json.dumps(value) + "\n" + json.dumps(value))
            got(f"data: {json.dumps(value)}\n\ndata: {json.dumps(value)}\n\n")


def test_a_document_of_many_chats_takes_time_with_its_size(got, monkeypatch):
    calls, counts = 0, list[int]()

    def counting(value):
        nonlocal calls
        calls += 1
        return spoken(value)

    monkeypatch.setattr(chats, "spoken", counting)
    for size in (50, 100, 200):
        said = [(f"Which is number {number}?", f"It is number {number}.") for number in range(size)]
        asked = [[{"sender": "user", "text": one}, {"sender": "bot", "text": other}] for one, other in said]
        calls = 0
        assert len(got(json.dumps({f"chat {number}": chat for number, chat in enumerate(asked)})).turns) == size
        counts.append(calls)
    assert counts[2] - counts[1] < 3 * (counts[1] - counts[0])


def test_what_is_left_out_of_a_record_that_is_too_long_hides_no_record_behind_it(got, monkeypatch):
    monkeypatch.setattr("webapp.dumps.budget.MOST_CHARACTERS", 5000)
    long = "USER " + "x" * 491 + "\n"
    log = f"TO LLM 2026-01-01T00:00:00\n{long * 13}LLM RESPONSE 2026-01-01T00:00:01\nASSISTANT Done.\n"
    read = got(log, "llm.log", named="aider_llm")
    assert [(turn.kind, len(turn.raw)) for turn in read.only] == [("prompt", 10 * 492 - 1), ("response", 5)]
    assert [problem.at for problem in read.problems] == ["line 12"]


def test_a_chat_of_aider_may_be_longer_than_one_item(got, monkeypatch):
    monkeypatch.setattr("webapp.dumps.budget.MOST_CHARACTERS", 5000)
    chat = "".join(f"#### turn {number}  \n\nDone: {number}.\n\n" for number in range(500))
    read = got(f"# aider chat started at 2026-01-01 10:00:00\n\n{chat}", ".aider.chat.history.md")
    assert [turn.raw for turn in read.only if turn.kind == "response"] == [f"Done: {n}." for n in range(500)]
    assert read.problems == []
