"""Where agents keep their logs on this machine; each program documents its folder, or its source shows it.

`{home}` is the home directory, `{config}` and `{data}` are XDG's (https://specifications.freedesktop.org/basedir-spec),
`{support}` is macOS's `~/Library/Application Support`, or `{config}` elsewhere, and `{code}` each of
the editors that are VS Code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class LogPlace(NamedTuple):
    """A program and the patterns of its logs: a folder, and a glob below it."""

    program: str
    patterns: tuple[tuple[str, str], ...]


_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_TASKS = "User/globalStorage/{}/tasks/*/api_conversation_history.json"
_EXTENSIONS = {
    "Cline": "saoudrizwan.claude-dev",
    "Roo Code": "rooveterinaryinc.roo-cline",
    "Kilo Code": "kilocode.kilo-code",
}

PLACES = (
    LogPlace("Claude Code", (("{claude}/projects", "**/*.jsonl"),)),
    LogPlace("Codex", (("{codex}/sessions", "**/*.jsonl"), ("{codex}/archived_sessions", "*.jsonl"))),
    LogPlace("Gemini CLI", (("{home}/.gemini/tmp", "*/chats/*.json*"),)),
    LogPlace("Copilot CLI", (("{home}/.copilot/session-state", "**/*.jsonl"),)),
    LogPlace(
        "Cursor",
        (
            ("{home}/.cursor/projects", "*/agent-transcripts/**/*.jsonl"),
            ("{support}/Cursor/User/globalStorage", "state.vscdb"),
        ),
    ),
    *(
        LogPlace(name, (("{code}", _TASKS.format(extension)), ("{home}/.vscode-server/data", _TASKS.format(extension))))
        for name, extension in _EXTENSIONS.items()
    ),
    LogPlace("OpenCode", (("{data}/opencode", "opencode*.db"), ("{data}/opencode/storage", "message/**/*.json"))),
    LogPlace("Goose", (("{data}/goose/sessions", "*.jsonl"), ("{data}/goose/sessions", "sessions.db"))),
    LogPlace("Amp", (("{data}/amp/threads", "*.json"),)),
    LogPlace("Crush", (("{data}/crush", "**/crush.db"), ("{here}/.crush", "crush.db"))),
    LogPlace("Kiro", (("{home}/.kiro/sessions", "**/*.json*"), ("{data}/kiro-cli", "data.sqlite3"))),
    LogPlace("Zed", (("{data}/zed/threads", "threads.db"), ("{support}/Zed/threads", "threads.db"))),
    LogPlace("Continue", (("{home}/.continue/sessions", "*.json"),)),
    LogPlace("Aider", (("{here}", ".aider.chat.history.md"), ("{home}", ".aider.chat.history.md"))),
    LogPlace("Droid", (("{home}/.factory/sessions", "**/*.jsonl"),)),
    LogPlace("Pi", (("{home}/.pi/agent/sessions", "**/*.jsonl"),)),
    LogPlace("Kimi CLI", (("{home}/.kimi/sessions", "**/*.jsonl"),)),
    LogPlace("Qwen Code", (("{home}/.qwen/projects", "*/chats/*.jsonl"), ("{home}/.qwen/tmp", "*/chats/*.json*"))),
    LogPlace(
        "LM Studio",
        (("{home}/.lmstudio/conversations", "**/*.json"), ("{home}/.cache/lm-studio/conversations", "**/*.json")),
    ),
    LogPlace("Open WebUI", (("{home}/.open-webui", "webui.db"), ("{data}/open-webui", "webui.db"))),
    LogPlace("llm", (("{llm}", "logs.db"),)),
)


def folders(environ: Mapping[str, str], here: Path) -> dict[str, list[Path]]:
    """What each name in braces of `PLACES` stands for, as its program reads the environment."""
    home = Path(environ.get("HOME") or Path.home())
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    support = home / "Library" / "Application Support" if sys.platform == "darwin" else config
    return {
        "home": [home],
        "here": [here],
        "data": list(dict.fromkeys([data, home / ".local" / "share"])),
        "support": [support],
        "code": [support / editor for editor in _EDITORS],
        "claude": [Path(each) for each in (environ.get("CLAUDE_CONFIG_DIR") or str(home / ".claude")).split(",")],
        "codex": [Path(environ.get("CODEX_HOME") or home / ".codex")],
        "llm": [Path(environ.get("LLM_USER_PATH") or support / "io.datasette.llm")],
    }


def logs_of(place: LogPlace, names: Mapping[str, list[Path]]) -> Iterator[tuple[Path, str]]:
    """The folders in which a program's logs may be, each with the glob of their names."""
    for folder, pattern in place.patterns:
        name = folder[1 : folder.index("}")]
        for root in names[name]:
            yield Path(str(root) + folder[len(name) + 2 :]), pattern
