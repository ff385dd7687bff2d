"""Kills Fencepost at random moments and looks each time whether all that was acknowledged is there, once, and counted.

    python -m benchmarks.reliability [--kills 200] [--on sqlite --on postgresql+worker …] [--seed 1]

Starts all that it kills, in a temporary folder and on free ports of 127.0.0.1: `fencepost serve`, its worker or workers
of their own, commands, a PostgreSQL cluster and a Redis that keeps nothing. While dumps come in, a run goes over all
responses, sessions are pruned, or labels are given (these always), one of them is killed with SIGKILL and started
anew. Prints a line a kill on standard error and one JSON document; exits with 1 where anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.reliability.rounds import Rounds
from benchmarks.reliability.world import KINDS, World


@dataclass
class Result:
    kills: Counter[str] = field(default_factory=Counter)
    """by setup, what went on, and what was killed"""
    under_way: int = 0
    """of them with a request, a command or a run that had not ended"""
    restarts: int = 0
    """of processes that ended by themselves"""
    wrong: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        by_kind = dict(sorted(self.kills.items()))
        counts = {"kills": self.kills.total(), "under_way": self.under_way, "restarts": self.restarts}
        return {**counts, "of": by_kind, "wrong": self.wrong}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="of all setups together")
    parser.add_argument("--on", action="append", choices=KINDS, help="setups; all unless given")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=600, help="stop earlier, where this is over")
    parser.add_argument("--keep", type=Path, help="a folder for data and logs that stays")
    options = parser.parse_args()
    result, end, load = Result(), time.monotonic() + 60 * options.minutes, os.getloadavg()[0]
    kinds = options.on or list(KINDS)
    for at, kind in enumerate(kinds):
        kills = options.kills * (at + 1) // len(kinds) - options.kills * at // len(kinds)
        until = time.monotonic() + (end - time.monotonic()) / (len(kinds) - at)
        with tempfile.TemporaryDirectory(prefix="fencepost-kills-") as temporary:
            folder = options.keep / kind if options.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            one(kind, folder, kills, until, options.seed, result)
    said = {**result.as_dict(), "load": [round(load, 1), round(os.getloadavg()[0], 1)], "processors": os.cpu_count()}
    print(json.dumps(said, indent=2))
    sys.exit(1 if result.wrong else 0)


def one(kind: str, folder: Path, kills: int, until: float, seed: str, result: Result) -> None:
    """So many kills on one setup."""
    world = World(kind, folder)
    try:
        world.start()
        rounds, done = Rounds(world, random.Random(f"{seed} {kind}")), 0
        while done < kills and time.monotonic() < until:
            outcome = rounds.next()
            if outcome.killed:
                done += 1
                result.kills[f"{kind}: {outcome.work}, {outcome.victim}"] += 1
                result.under_way += outcome.under_way > 0
            about = f"{kind} {done}/{kills} {outcome.work} {outcome.victim} killed={outcome.killed}"
            print(f"{about} under way: {outcome.under_way} {outcome.seconds:.1f} s", file=sys.stderr, flush=True)
            for wrong in outcome.wrong:
                print(f"  WRONG {wrong}", file=sys.stderr, flush=True)
                result.wrong.append(f"{about}: {wrong}")
        result.restarts += rounds.restarts
    finally:
        world.stop()


if __name__ == "__main__":
    main()
