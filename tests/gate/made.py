"""Cases for the gate's tests, and a parser whose readings a test says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES: list[dict[str, Any]] = [
    {"id": "plain", "text": '{"a": 1}', "expected": [{"a": 1}]},
    {"id": "fenced", "text": 'Here:\n```json\n{"a": 2}\n```', "expected": [{"a": 2}]},
    {"id": "comma", "text": '{"a": [1, 2,],}', "expected": [{"a": [1, 2]}]},
    {"id": "prose", "text": "Nothing to call here.", "expected": []},
    {"id": "unlabelled", "text": '{"b": 1,}', "expected": None},
]


def write(path: Path, rows: list[dict[str, Any]] = CASES) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path
