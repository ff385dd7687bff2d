"""SWE-agent trajectories: history and trajectory together, each alone, demonstrations left out."""

from __future__ import annotations

import json

from tests.dumps.conftest import gather


def test_no_demonstration_is_a_turn_and_every_response_is_there(shared):
    for path in sorted((shared / "corpus" / "swe_agent").glob("*.traj")):
        value = json.loads(path.read_text())
        found = gather(path, path.name)
        demos = {message["content"] for message in value["history"] if message.get("is_demo")}
        assert not demos & {turn.raw for turn in found.only}
        said = [turn.raw for turn in found.only if turn.kind == "response" and "response" in turn.source]
        assert said == [step["response"] for step in value["trajectory"]]
