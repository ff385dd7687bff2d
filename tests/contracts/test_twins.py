"""Error rates of the contract states: 50 twins each, a fault put into real calls that keep their contract, and not."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import contract_twins
from webapp.contracts.contract import STATES
from webapp.dumps.records import Turn


@pytest.fixture(scope="module")
def pool(shared: Path) -> list[Turn]:
    return contract_twins.kept_turns(shared / "corpus")


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_that_of_its_fault_and_not_of_its_twin(state: str, pool: list[Turn]) -> None:
    precision, recall = contract_twins.measured(state, pool, 50)
    assert precision >= 0.99 and recall >= 0.95, (precision, recall)
