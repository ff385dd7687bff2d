"""Archives of events, and tables of too many rows."""

from __future__ import annotations

import io
import json
import zipfile

from webapp.dumps import budget

ANSWER = 'The answer {"a": 1,}'


def test_openhands_events_a_file_each_are_one_session(got):
    archive = io.BytesIO()
    events = [
        {"source": "user", "kind": "MessageEvent", "llm_message": {"role": "user", "content": "q"}},
        *({"source": "agent", "kind": "PauseEvent"} for _ in range(9)),
        {"source": "agent", "kind": "MessageEvent", "llm_message": {"role": "assistant", "content": ANSWER}},
    ]
    with zipfile.ZipFile(archive, "w") as members:
        for number, event in reversed(list(enumerate(events))):
            members.writestr(f"conv/events/event-{number}-x.json", json.dumps({"id": str(number), **event}))
    found = got(archive.getvalue(), "conversation.zip")
    assert (found.ids, found.problems, found.alarms) == (["conv"], [], [])
    said = [(turn.kind, turn.raw) for turn in found.only]
    assert [said[0], said[-1]] == [("prompt", "q"), ("response", ANSWER)] and len(said) == 11


def test_a_file_whose_number_is_longer_than_python_reads_is_no_event(got):
    archive, event = io.BytesIO(), {"source": "user", "action": "message", "args": {"content": "q"}}
    with zipfile.ZipFile(archive, "w") as members:
        for name in ("1", "2", "9" * 5000):
            members.writestr(f"conv/events/{name}.json", json.dumps(event))
    found = got(archive.getvalue(), "conversation.zip")
    assert [turn.raw for turn in found.only] == ["q", "q"]
    assert [problem.reason for problem in found.problems] == ["not an event; it was left out"]


def test_a_packed_table_of_too_many_rows_is_kept_up_to_there(got, monkeypatch):
    monkeypatch.setattr(budget, "STRICT_RECORDS", 6)
    with budget.reading(budget.Budget(20, is_strict=True)):
        found = got("prompt,response\n" + "q?,an answer\n" * 9, "many.csv")
    assert [turn.raw for turn in found.only][:2] == ["q?", "an answer"]
    assert "it has more than 6 records" in found.problems[-1].reason
