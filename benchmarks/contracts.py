"""Holds made requests of six dialects against `jsonschema` over the raw request, and each broken one's twin.

    python -m benchmarks.contracts [--requests 10000] [--seed 31]

A request declares two tools of its own and is answered by a call, written as its dialect writes it and read as any
dump is. Where the states, paths or keywords differ from those of jsonschema, or the twin of a broken call, without its
fault, is not kept, that is a difference. Prints one JSON document; exits with 1 where there is a difference.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.contracts.dialects import DIALECTS, Tools, contracts, errors, mended, request
from webapp.contracts.contract import Contract


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args()
    begun = time.process_time()
    found = compared(options.requests, options.seed)
    print(json.dumps(found | {"processor_s": round(time.process_time() - begun, 1)}, indent=1))
    sys.exit(1 if found["differences"] else 0)


def compared(count: int, seed: int) -> dict[str, Any]:
    """How many calls ended as which state, by dialect; how many twins there were, and in how many of them arguments
    were found that fit the same schema; and what differed."""
    states, differences, twins = dict[str, dict[str, int]](), list[str](), list[Any]()
    with tempfile.TemporaryDirectory() as folder:
        for at, dialect in enumerate(DIALECTS):
            chance = random.Random(f"{seed} {dialect.__name__}")
            requests = [request(chance, number) for number in range(at, count, len(DIALECTS))]
            held = contracts(Path(folder, "calls.jsonl"), [dialect(*asked) for asked in requests])
            wrong = [(asked, one) for asked, one in zip(requests, held, strict=True) if not is_same(asked, one)]
            broken = [asked[0] for asked, one in zip(requests, held, strict=True) if one.is_broken]
            mends = [(tools, mended(tools, chance)) for tools in broken]
            twins += [tools is twin[0] for tools, twin in mends]
            whole = contracts(Path(folder, "twins.jsonl"), [dialect(*twin) for _, twin in mends])
            wrong += [(twin, one) for (_, twin), one in zip(mends, whole, strict=True) if one.state != "kept"]
            differences += [f"{dialect.__name__}: {asked} is {one}" for asked, one in wrong]
            states[dialect.__name__] = dict(Counter(one.state for one in held))
    found = {"requests": count, "states": states, "twins": len(twins), "found_to_fit": sum(twins)}
    return found | {"differences": len(differences), "first": differences[:5]}


def is_same(asked: tuple[Tools, str, Any], contract: Contract) -> bool:
    """Whether the contract of a call is what jsonschema, and the list of tools, says of the raw request."""
    tools, name, value = asked
    if name not in dict(tools):
        return contract.state == "unknown_name"
    wanted = errors(dict(tools)[name], value)
    state = "schema_mismatch" if wanted else "kept"
    return contract.state == state and {(one.path, one.keyword) for one in contract.mismatches} == wanted


if __name__ == "__main__":
    main()
