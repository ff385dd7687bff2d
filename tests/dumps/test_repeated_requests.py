"""Growing requests: each message of a conversation comes back once, in order, whatever is said twice in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from webapp.dumps.base import Conversation
from webapp.dumps.messages.exchanges import exchange

TEXTS = st.sampled_from(["continue", "OK", "yes", '{"a": 1}', "go on, please"])
Message = dict[str, Any]


def read(
    *exchanges: tuple[list[Message], str | None],
) -> tuple[list[tuple[str, str | None]], list[str], list[int | None]]:
    """(kind, text) of each turn, the notes, and the branches, of requests with their answers."""
    conversation, turns = Conversation(), []
    for messages, answer in exchanges:
        response = None if answer is None else {"choices": [{"message": {"role": "assistant", "content": answer}}]}
        turns += exchange({"messages": messages}, response, conversation)
    return [(turn.kind, turn.raw) for turn in turns], conversation.notes, [turn.sounding for turn in turns]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def model(text: str) -> Message:
    return {"role": "assistant", "content": text}


def grown(system: str | None, said: list[tuple[str, str]]) -> Iterator[tuple[list[Message], str]]:
    """Each request of a conversation of (prompt, answer)s, and its answer."""
    messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    for prompt, answer in said:
        messages.append(user(prompt))
        yield list(messages), answer
        messages.append(model(answer))


def shown(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [turn for prompt, answer in said for turn in (("prompt", prompt), ("response", answer))]


@given(st.none() | TEXTS, st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=7))
def test_each_message_comes_back_once_in_order(system, said):
    turns, notes, branches = read(*grown(system, said))
    assert turns == ([("prompt", system)] if system is not None else []) + shown(said)
    assert (notes, set(branches)) == ([], {None})


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=6), st.data())
def test_requests_that_were_not_logged_lose_nothing(said, data):
    requests = list(grown(None, said))
    kept = [*(request for request in requests[:-1] if data.draw(st.booleans())), requests[-1]]
    assert read(*kept)[0] == shown(said)


@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.lists(st.tuples(TEXTS, TEXTS), max_size=5), st.data()
)
def test_two_agents_that_take_turns(first, second, data):
    one, two = list(grown("You are A.", first)), list(grown("You are B.", second))
    mixed, turns = [], []
    while one or two:
        agent = one if one and (not two or data.draw(st.booleans())) else two
        mixed.append(agent.pop(0))
    for messages, answer in mixed:
        opening = [("prompt", messages[0]["content"])] if len(messages) == 2 else []
        turns += [*opening, ("prompt", messages[-1]["content"]), ("response", answer)]
    assert read(*mixed)[0] == turns


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=5))
def test_a_system_prompt_that_changes_is_all_that_is_new(said):
    requests = [
        ([{"role": "system", "content": f"It is {hour} o'clock."}, *messages], answer)
        for hour, (messages, answer) in enumerate(grown(None, said))
    ]
    assert [turn for turn in read(*requests)[0] if "o'clock" not in str(turn[1])] == shown(said)


def test_an_answer_that_was_not_logged_is_taken_from_the_next_request():
    assert read(([user("Q")], None), ([user("Q"), model("A"), user("R")], "B"))[0] == [
        ("prompt", "Q"), ("response", "A"), ("prompt", "R"), ("response", "B"),
    ]  # fmt: skip


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=4, max_size=9), st.integers(2, 4))
def test_a_window_that_slides_repeats_nothing(said, size):
    said = [(f"{prompt} {number}", f"{answer} {number}") for number, (prompt, answer) in enumerate(said)]
    requests = [(messages[-2 * size + 1 :], answer) for messages, answer in grown(None, said)]
    turns, notes, _ = read(*requests)
    assert turns == shown(said)
    assert len(notes) == (len(said) > size)
