"""The sessions' index alone, over made rows and without a database: reading, writes, the list's sets, and memory.

    python -m benchmarks.session_index [--sessions 1000000] [--writes 60]

Prints one JSON document: milliseconds of processor time (medians) and megabytes resident. `page` takes the first fifty
in the list's order and counts every facet; `write` adds one changed session to the index.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from webapp.store.index import order
from webapp.store.index.bit_sliced_index import NONE
from webapp.store.index.session_reader import Row
from webapp.store.index.state import State
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.narrowing import FACETS, Narrowed

_AT_ONCE = 20_000
_STRATEGIES = ("whole", "fenced", "balanced", "tagged")
_HOMES = ("direct", "langchain", "instructor", "windlass")
_START, _STEP = 63_900_000_000_000_000, 1_700_003


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--writes", type=int, default=60)
    options = parser.parse_args()
    print(json.dumps(measured(options.sessions, options.writes), indent=1))


def measured(sessions: int, writes: int) -> dict[str, float]:
    choice = random.Random(1)
    facets = [made_facets(choice) for _ in range(5000)]
    began, state = time.process_time(), State()
    for low in range(1, sessions + 1, _AT_ONCE):
        state = state.extended(made_rows(range(low, min(low + _AT_ONCE, sessions + 1)), facets))
    answers: dict[str, float] = {"read seconds": time.process_time() - began, "MB after reading": resident()}
    answers["page"] = statistics.median(milliseconds(lambda: page(state)) for _ in range(9))
    alone, with_page = [], []
    for number in range(writes):
        changed = made_rows([choice.randint(1, sessions)], facets, sessions + number)
        began = time.process_time()
        state = state.extended(changed)
        alone.append((time.process_time() - began) * 1000)
        page(state)
        with_page.append((time.process_time() - began) * 1000)
    answers |= {"write": statistics.median(alone), "write, then page": statistics.median(with_page)}
    return {name: round(value, 2) for name, value in (answers | {"MB after writes": resident()}).items()}


def page(state: State) -> None:
    state.cache.clear()
    narrowed = Narrowed(state, Filters(), lambda _: NONE)
    order.first(state, "failing", narrowed.view, None, 50)
    for facet in FACETS:
        narrowed.counts(facet)


def made_rows(ids: Any, facets: list[dict[str, Any]], change: int = 0) -> Iterator[Row]:
    for number in ids:
        one, kind = facets[(number * 7919 + change) % len(facets)], number * 31 % 97
        about = (number, number + change, one, "direct", "told", "otlp", None, _START + number * _STEP)
        counts = (kind % 5 if kind < 30 else 0, kind % 2, 20, 40, 9000 + kind * 100, 0, 10, 4, kind % 3, 1, kind % 2)
        yield Row._make((*about, *counts, frozenset()))


def made_facets(choice: random.Random) -> dict[str, Any]:
    return {
        "profiles": {name: _profile(choice) for name in ("fencepost", choice.choice(_HOMES))},
        "errors": {f"error {choice.randrange(40)}": 1} if choice.random() < 0.3 else {},
        "models": {f"model {choice.randrange(12)}": [choice.randrange(4) for _ in range(10)]},
        "agents": [f"agent {choice.randrange(20)}"],
        "phases": ["plan", "act"],
        "tools": [f"tool {choice.randrange(10)}"],
        "finding": {f"finding {choice.randrange(8)}": 1} if choice.random() < 0.2 else {},
    }


def _profile(choice: random.Random) -> dict[str, Any]:
    return {
        "verdicts": [choice.randrange(6) if choice.random() < 0.5 else 0 for _ in range(5)],
        "repairs": {f"repair {choice.randrange(20)}": choice.randint(1, 4) for _ in range(2)},
        "won": {
            name: (choice.randint(1, 9), choice.randint(1, 70_000), {str(choice.randrange(4, 12)): 2})
            for name in choice.sample(_STRATEGIES, 2)
        },
        "tried": dict.fromkeys(choice.sample(_STRATEGIES, 3), 2),
    }


def milliseconds(task: Callable[[], object]) -> float:
    began = time.process_time()
    task()
    return (time.process_time() - began) * 1000


def resident() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
