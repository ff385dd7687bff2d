"""Coverage of intervals and alarms of the sign-flip test where failures repeat within sessions, beside the naive ones.

Run from the checkout: `python -m benchmarks.clustered [trials]`. Two equal parsers; a session
is bad with some chance, and then ten of its responses differ, all for one side, as a program that repeats a failure.
"""

from __future__ import annotations

import random
import sys
from math import comb

from webapp.store.rates import Cluster, share, sign_test, wilson


def rates(chance: random.Random, sessions: int) -> list[Cluster]:
    """Failures of responses by session: 8 to 12 responses, with a rate of their own around 0.3."""
    made = []
    for _ in range(sessions):
        of, rate = chance.randint(8, 12), chance.betavariate(1.5, 3.5)
        made.append((sum(chance.random() < rate for _ in range(of)), of))
    return made


def signs(chance: random.Random, sessions: int) -> list[Cluster]:
    """Responses that one side alone reads: in a bad session ten for one side, in others one or none."""
    made = []
    for _ in range(sessions):
        size = 10 if chance.random() < 0.1 else chance.randint(0, 1)
        made.append((size, 0) if chance.random() < 0.5 else (0, size))
    return made


def binomial(first: int, second: int) -> float:
    """The exact sign test that takes each response for a trial of its own."""
    of = first + second
    heads: int = sum(comb(of, number) for number in range(min(first, second) + 1))
    return float(min(1.0, 2 * heads / 2**of))


def main(trials: int) -> None:
    chance = random.Random(32)
    print("sessions  coverage  as trials  alarms  as trials")
    for sessions in (10, 20, 50, 200):
        held, naive_held, alarms, naive_alarms = 0, 0, 0, 0
        for _ in range(trials):
            pairs = rates(chance, sessions)
            result = share(pairs)
            held += result.low is not None and result.high is not None and result.low <= 0.3 <= result.high
            low, high = wilson(result.count, result.of or 1)
            naive_held += low <= 0.3 <= high
            test = sign_test(signs(chance, sessions))
            alarms += test.p is not None and test.p <= 0.05
            naive_alarms += binomial(test.first, test.second) <= 0.05
        print(
            f"{sessions:>8}", *(f"{100 * each / trials:>8.1f} %" for each in (held, naive_held, alarms, naive_alarms))
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
