"""Error rates of the rules: 50 twins each, a fault put into clean real sessions and taken out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import twins


@pytest.fixture(scope="module")
def pool(shared: Path) -> list[twins.Session]:
    return twins.clean(shared / "corpus", most=12)


@pytest.mark.parametrize("rule", twins.FAULTS)
def test_a_rule_speaks_of_its_fault_and_not_of_its_twin(rule: str, pool: list[twins.Session]) -> None:
    precision, recall = twins.measured(rule, pool, 50)
    assert precision >= 0.99 and recall >= 0.95, (precision, recall)
