"""Fuzzing: `python tests/parsing/fuzz.py [seconds]` by hand, `--runs N` for a bounded run; with atheris where it is.

Every text must keep the promises of the trace (see `promises.py`); without atheris, given cases are mutated at random.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

try:
    import atheris
except ImportError:
    atheris = None

if atheris:
    with atheris.instrument_imports(include=["webapp.parsing"]):
        from promises import PIECES, keeps_its_promises
else:
    from promises import PIECES, keeps_its_promises


def one(data: bytes) -> None:
    """Bytes choose pieces of JSON and characters, so that the fuzzer does not have to find the grammar by itself."""
    pieces = [PIECES[byte] if byte < len(PIECES) else chr(byte) for byte in data[:400]]
    keeps_its_promises("".join(pieces))


def at_random(seconds: float, runs: float) -> int:
    """Our own mutations of the case files until either bound is met; how many texts were tried."""
    from _cases import every

    seeds = [case.raw for case in every()]
    chance, tried, end = random.Random(7), 0, time.monotonic() + seconds
    while time.monotonic() < end and tried < runs:
        raw = chance.choice(seeds)
        for _ in range(chance.randint(1, 6)):
            at = chance.randint(0, len(raw))
            raw = raw[:at] + chance.choice([*PIECES, chance.choice(seeds)[:30], ""]) + raw[at + chance.randint(0, 3) :]
        keeps_its_promises(raw)
        tried += 1
    return tried


if __name__ == "__main__":
    bounded = sys.argv[1:2] == ["--runs"]
    limit = int(sys.argv[-1]) if len(sys.argv) > 1 else 30
    if atheris:
        bound = [f"-runs={limit}", "-seed=7"] if bounded else [f"-max_total_time={limit}"]
        atheris.Setup([sys.argv[0], *bound, "-max_len=400"], one)
        atheris.Fuzz()
    else:
        tried = at_random(float("inf") if bounded else limit, limit if bounded else float("inf"))
        sys.stdout.write(f"{tried} texts kept the promises\n")
