"""The alarm: what was read without its answers is said, with the keys that were seen and what to do."""

from __future__ import annotations

import json

USER = {"role": "user", "content": "Give me the plan as JSON."}


def test_the_program_that_was_inferred_is_no_key_of_the_log(got):
    log = "# aider chat started at 2026-03-01 10:00:00\n\n> Main model: m with diff edit format  \n\n#### plan  \n"
    (problem,) = got(log, "a.md").alarms
    assert "started" in problem.reason and "program" not in problem.reason


def test_many_such_sessions_are_counted(got):
    lines = "\n".join(json.dumps({"session_id": f"s{number}", **USER}) for number in range(30))
    problems = got(lines, "a.jsonl").alarms
    assert len(problems) == 21
    assert problems[-1].reason == "30 sessions in total have no answers, or mostly empty ones"
