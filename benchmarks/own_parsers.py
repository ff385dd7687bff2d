"""Verdicts of parsers as people write them, over the same 2,000 responses.

    python -m benchmarks.own_parsers ../shared/cases/extraction*.jsonl

The texts of the cases, and copies of them in which one character was deleted or doubled, the same ones each time. The
parsers are those of `tests/capture/own_parsers.py`. Prints one row of a table in Markdown a parser.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from tests.capture import own_parsers
from webapp.parsing.outcomes import run

RESPONSES = 2000
KINDS = {
    "lenient_library": "`repair_json(text, return_objects=True)`",
    "python_literal": "`ast.literal_eval(text)`",
    "json5_library": "`json5.loads(text)`",
    "yaml_library": "`yaml.safe_load(text)`",
    "control_characters_allowed": "`json.loads(text, strict=False)`",
    "gives_an_empty_object": "`except ValueError: return {}`",
    "gives_a_constant": "`except ValueError: return` a constant",
    "gives_the_error": "`except ValueError: return (False, None, error)`",
    "with_defaults": "a model that fills in defaults",
    "wrapped": '`{"ok": True, "data": value}`',
    "waits": "`async def`",
}
VERDICTS = ("clean", "extracted", "repaired", "failed", "none")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", type=Path)
    texts = responses([text for path in sorted(parser.parse_args().cases) for text in _texts(path)])
    print(f"| parser | {' | '.join(VERDICTS)} |\n|---|{'---|' * len(VERDICTS)}")
    for name, words in KINDS.items():
        counts: Counter[str] = Counter(run(getattr(own_parsers, name), text).verdict for text in texts)
        print(f"| {words} | {' | '.join(f'{counts[verdict]:,}' for verdict in VERDICTS)} |", flush=True)


def responses(texts: list[str]) -> list[str]:
    """Those texts, and damaged copies of them, 2,000 in all."""
    chance, made = random.Random(28), list(texts)
    while len(made) < RESPONSES:
        text = chance.choice(texts)
        at = chance.randrange(max(1, len(text)))
        made.append(text[:at] + text[at : at + 1] * chance.choice((0, 2)) + text[at + 1 :])
    return made[:RESPONSES]


def _texts(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text("utf-8").split("\n") if line]


if __name__ == "__main__":
    main()
