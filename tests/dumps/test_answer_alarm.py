"""The alarm: what was read without its answers is said, with the keys that were seen and what to do."""

from __future__ import annotations

import json

USER = {"role": "user", "content": "Give me the plan as JSON."}


def reasons(got, messages, **more):
    return [problem.reason for problem in got(json.dumps({"messages": messages, **more})).alarms]


def test_many_such_sessions_are_counted(got):
    lines = "\n".join(json.dumps({"session_id": f"s{number}", **USER}) for number in range(30))
    problems = got(lines, "a.jsonl").alarms
    assert len(problems) == 21
    assert problems[-1].reason == "30 sessions in total have no answers, or mostly empty ones"
