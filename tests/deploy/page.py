"""What docs/deploy.md shows, and how a server that runs as it says is asked."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "deploy.md").read_text("utf-8")
EXAMPLE = ROOT / "examples" / "three-models-in-a-circle.json"
TOKEN = "a-token-of-the-tests-own"


def fenced(title: str, kind: str = "sh") -> list[str]:
    """The lines of the blocks of that kind in a section."""
    section = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert section, title
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", section[1], re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


def ask(address: str, path: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(f"{address}{path}", body, {"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        content: bytes = answer.read()
        return content
