"""A home directory in which a coding agent left its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def entry(kind: str, content: Any, number: int, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more}
    about = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s-1"}
    return {"type": kind, "message": message, "timestamp": f"2026-11-24T10:00:{number:02}.000Z", **about}


def claude_code(stop: str) -> str:
    use = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "a.py"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"}
    text = {"type": "text", "text": 'It holds {"x": [1, 2'}
    model = {"model": "claude-x", "type": "message", "id": "msg_1"}
    entries = [
        entry("user", "Read a.py", 0),
        entry("assistant", [use], 1, stop_reason="tool_use", **model),
        entry("user", [result], 2),
        entry("assistant", [text], 3, stop_reason=stop, **model | {"id": "msg_2"}),
    ]
    return "".join(f"{json.dumps(each)}\n" for each in entries)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory in which Claude Code left one log."""
    folder = tmp_path / "home" / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    (folder / "s-1.jsonl").write_text(claude_code("max_tokens"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "LLM_USER_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def log(home: Path) -> Path:
    return home / ".claude/projects/-work/s-1.jsonl"
