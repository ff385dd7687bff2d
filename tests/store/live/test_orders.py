"""Spans of generated conversations, in any order, in any batches, some twice: they come to what they do all at once."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.dumps.formats.test_otlp import span
from tests.store.live.test_live import START, Gate, stored, take
from tests.store.live.test_live import gate as gate
from webapp.store.models import Session, Turn

SHOWN = ("position", "kind", "role", "raw", "model", "agent", "sounding", "parent", "recorded_failure", "sent_at")
SDKS = (("plain", "parent", "tool"), ("pair",))


class Talk:
    """The spans of a talk, by the time at which they began; requests repeat what was said, or only what was asked."""

    def __init__(self, seed: int, name: str, agents: int) -> None:
        self.chance, self.name, self.spans = random.Random(seed), name, list[dict[str, Any]]()
        self.histories = [[said("system", f"You are {number}.")] for number in range(agents)]
        self.repeats_answers = self.chance.random() < 0.5
        kinds = self.chance.choice(SDKS)
        for number in range(7):
            self.round(number, self.chance.choice(self.histories), self.chance.choice(kinds))

    def round(self, number: int, history: list[dict[str, Any]], kind: str) -> None:
        history.append(said("user", f"Question {number}?"))
        answer = f'{{"n": {number}}}' if self.chance.random() < 0.7 else f'{{"numbers": [{number}, 2'
        if kind == "pair":
            self.pair(history, answer)
        else:
            if kind == "parent":
                self.put({"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": list(history)})
            if kind == "tool":
                self.call(number, history)
            failed = {"status": {"code": 2, "message": "broke"}} if self.chance.random() < 0.2 else {}
            answers = {"gen_ai.output.messages": [said("assistant", answer)]}
            self.put({"gen_ai.input.messages": list(history), **answers}, **failed)
        if self.repeats_answers:
            history.append(said("assistant", answer))

    def pair(self, history: list[dict[str, Any]], answer: str) -> None:
        texts = [{"role": one["role"], "content": one["parts"][0]["content"]} for one in history]
        about = {"ai.prompt.messages": json.dumps(texts), "ai.response.text": answer}
        self.put({"ai.operationId": "ai.generateText", **about})
        self.put({"ai.operationId": "ai.generateText.doGenerate", "gen_ai.response.model": "m", **about})

    def call(self, number: int, history: list[dict[str, Any]]) -> None:
        arguments = self.chance.choice(("{broken", '{"a": 1}'))
        call = {"type": "tool_call", "id": f"c{number}", "name": "f", "arguments": arguments}
        asked = {"role": "assistant", "parts": [call]}
        self.put({"gen_ai.input.messages": list(history), "gen_ai.output.messages": [asked]})
        result = self.chance.choice(("Error parsing arguments: invalid JSON", f"result {number}"))
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": f"c{number}"}
        self.put({**about, "gen_ai.tool.call.result": result})
        if self.repeats_answers:
            answered = {"type": "tool_call_response", "id": f"c{number}", "response": result}
            history += [asked, {"role": "tool", "parts": [answered]}]

    def put(self, about: dict[str, Any], **more: Any) -> None:
        at = len(self.spans) + 1
        ids = {"traceId": self.name.encode().hex().rjust(32, "0"), "spanId": f"{at:016x}"}
        started = str(START + at * 10**9)
        self.spans.append(
            span({"gen_ai.conversation.id": self.name, **about}, startTimeUnixNano=started, **ids, **more)
        )


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def shown(db: orm.Session, name: str) -> dict[str, Any]:
    """What is seen of a session: its turns where they stand, and all that is made of them."""
    made = {key: value for key, value in stored(db, name).items() if key in ("session", "findings", "facets")}
    of_session = sa.select(Session.id).where(Session.external_id == name).scalar_subquery()
    query = sa.select(*(getattr(Turn, column) for column in SHOWN)).where(Turn.session_id == of_session)
    turns = db.execute(query.where(Turn.duplicate_of.is_(None)).order_by(Turn.position)).all()
    return {**made, "turns": list(map(tuple, turns))}


@pytest.mark.parametrize(
    ("url", "agents"),
    [("sqlite", 1), ("sqlite", 2), pytest.param("postgres", 2, marks=pytest.mark.postgres)],
    indirect=["url"],
)
def test_any_order_and_any_batches_come_to_the_same(gate: Gate, db: orm.Session, agents: int) -> None:
    for seed in (1, 2, 7, 8, 11):
        chance, late = random.Random(seed), Talk(seed, f"late {seed}", agents).spans
        take(gate, *Talk(seed, f"whole {seed}", agents).spans)
        chance.shuffle(late)
        while late:
            count = chance.randint(1, 5)
            take(gate, *late[:count], *late[: chance.randint(0, 1)])
            del late[:count]
        assert shown(db, f"late {seed}") == shown(db, f"whole {seed}")
