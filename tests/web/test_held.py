"""Profiles' pages say how far a profile is its release: the numbers stand in a file that a benchmark writes."""

from __future__ import annotations

from flask.testing import FlaskClient

from tests.parsing.profiles import test_streams
from tests.parsing.profiles.test_released import HELD
from webapp.parsing.engine import profile
from webapp.parsing.profiles._about import held_releases, words_of_release


def test_every_profile_that_is_run_against_a_release_says_what_came_of_it(client: FlaskClient) -> None:
    assert {*HELD, "codex-apply-patch"} == set(held_releases()), "python -m benchmarks.released writes them"
    for name, held in held_releases().items():
        assert held.same + sum(held.differs.values()) == held.texts >= 2_000
        assert f"the same outcome on {held.same:,} of {held.texts:,} texts" in words_of_release(
            name, profile(name).version
        )


def test_the_page_says_release_texts_agreement_and_kinds(client: FlaskClient) -> None:
    held = held_releases()["mastra"]
    page = client.get("/profiles/mastra").text
    assert f"Held against {held.release}" in page and f"{held.same:,} of {held.texts:,} texts" in page
    assert "Kinds that differ: " in page
    assert "Held against" not in client.get("/profiles/direct").text


def test_the_page_of_a_server_says_what_comes_out_of_its_stream_otherwise(client: FlaskClient) -> None:
    streamed = {name for name, held in held_releases().items() if held.streamed is not None}
    assert streamed == set(test_streams.STREAMS)
    kinds = (held_releases()["vllm-qwen3-coder"].streamed or {})["1"]
    page = client.get("/profiles/vllm-qwen3-coder").text
    assert f"in pieces of 1 character or pieces of 7 characters {sum(kinds.values()):,} (" in page
    assert f"arguments that are no JSON: {kinds['arguments that are no JSON']:,}" in page
    assert "Fed as a stream" not in client.get("/profiles/crewai").text


def test_numbers_of_another_release_are_said_to_be_that() -> None:
    assert words_of_release("mastra", "restated-9.9.9").startswith("Not held yet against the release of its version")
