"""Anthropic messages: blocks apart, calls as calls, thinking apart, failures where an answer reports them."""

from __future__ import annotations

import json


def test_results_within_results(got):
    inner: object = "x"
    for _ in range(180):
        inner = [{"type": "tool_result", "content": inner}]
    found = got(json.dumps([{"role": "user", "content": inner}]))
    assert [turn.kind for turn in found.only] == ["tool_result"]
    assert found.entries() == [{"role": "user", "content": inner}]
