"""What names the sessions of a log's entries: the key that is chosen, the one that is told, and what has none."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.dumps.reading import read, session_keys
from webapp.dumps.records import SessionStart, Turn
from webapp.dumps.session_keys import NO_KEY, KeyChoice, chosen, found_keys, session_named


def entry(text: str, **about: Any) -> dict[str, Any]:
    answer = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    return {"request": {"messages": [{"role": "user", "content": text}]}, "response": answer, **about}


def write(tmp_path: Path, entries: list[Any], *, as_list: bool = False) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(entries) if as_list else "".join(json.dumps(value) + "\n" for value in entries))
    return path


def sessions(path: Path, key: str | None = None) -> tuple[dict[str, list[str | None]], list[str]]:
    """The answers of each session by its name, and the problems."""
    answers: dict[str, list[str | None]] = {}
    problems = []
    for record in read(path, path.name, mapping=None if key is None else {"session_key": key}):
        if isinstance(record, SessionStart):
            texts = answers[record.external_id] = []
        elif isinstance(record, Turn):
            texts += [record.raw] if record.kind == "response" else []
        else:
            problems.append(f"{record.at}: {record.reason}")
    return answers, problems


def test_thirty_conversations_are_thirty_sessions(tmp_path):
    entries = [entry(f"{n}", metadata={"conversation_id": f"c{n % 30}"}, trace_id=f"t{n}") for n in range(60)]
    path = write(tmp_path, entries)
    assert {name: len(texts) for name, texts in sessions(path)[0].items()} == {f"c{n}": 2 for n in range(30)}
    keys = session_keys(path, path.name)
    assert keys is not None
    assert (keys.key, keys.sessions, keys.entries, keys.without, keys.is_sure) == (
        "metadata.conversation_id", 30, 60, 0, False,
    )  # fmt: skip
    assert keys.choices == [KeyChoice("trace_id", 60, 60), KeyChoice("metadata.conversation_id", 60, 30)]
    assert len(sessions(path, "trace_id")[0]) == 60
    assert list(sessions(path, NO_KEY)[0]) == ["log"]


def test_traces_of_one_request_each_are_no_sessions(tmp_path):
    path = write(tmp_path, [entry(f"{n}", trace_id=f"t{n}") for n in range(4)])
    assert list(sessions(path)[0]) == ["log"]
    keys = session_keys(path, path.name)
    assert keys is not None and (keys.key, keys.sessions, keys.choices) == (None, 1, [KeyChoice("trace_id", 4, 4)])


def test_a_key_of_ones_own(tmp_path):
    path = write(tmp_path, [entry(f"{n}", x={"dialog.no": n % 2}) for n in range(4)])
    assert sessions(path, "x.dialog.no") == ({"0": ["0", "2"], "1": ["1", "3"]}, [])


def test_a_format_that_names_its_sessions_itself(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"session_id": "s", "entries": [{"node_type": "agent", "role": "agent", "content": "x"}]}')
    found, problems = sessions(path, "trace_id")
    assert list(found) == ["s"]
    assert problems[0] == "the session key: the format windlass names its sessions itself; the key was not used"


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=20))
def test_every_entry_is_in_one_session_in_order(tmp_path_factory, named):
    entries = [entry(str(n), **({"chat_id": name} if has else {})) for n, (name, has) in enumerate(named)]
    found, _ = sessions(write(tmp_path_factory.mktemp("log"), entries))
    assert sorted(text or "" for texts in found.values() for text in texts) == sorted(map(str, range(len(named))))
    assert all(texts == sorted(texts, key=lambda text: int(text or 0)) for texts in found.values())


def test_what_a_program_says_is_no_key():
    assert list(found_keys(entry("x", arguments={"session_id": "a"}, tools=[{"chat_id": "b"}]))) == []
    assert session_named({"request": '{"metadata": {"chat_id": 5}}'}, "request.metadata.chat_id") == "5"
    assert chosen([]) is None


def packed(tmp_path: Path, members: dict[str, list[Any]], kind: str = "zip") -> Path:
    """An archive of logs; one whose name ends in `.gz` is packed in it."""
    path = tmp_path / f"logs.{kind}"
    contents = {name: "\n".join(map(json.dumps, entries)).encode() for name, entries in members.items()}
    contents = {name: gzip.compress(data) if name.endswith(".gz") else data for name, data in contents.items()}
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in contents.items():
                archive.writestr(name, data)
        return path
    with tarfile.open(path, "w") as tar:
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


MEMBERS: dict[str, list[Any]] = {
    "monday.jsonl": [entry(f"m{n}", chat_id=f"m{n % 2}", trace_id=f"t{n % 3}") for n in range(6)],
    "tuesday.jsonl.gz": [entry(f"d{n}", conversation_id=f"d{n % 3}", trace_id=f"u{n % 2}") for n in range(6)],
    "notes.jsonl": [{"some": "thing"}],
}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_the_members_of_an_archive_are_shown_with_their_keys(tmp_path, kind):
    path = packed(tmp_path, MEMBERS, kind)
    keys = session_keys(path, path.name)
    assert keys is not None
    assert (keys.key, keys.files, keys.entries, keys.sessions, keys.differs, keys.is_sure, keys.cut) == (
        None, 2, 12, 5, True, False, False,
    )  # fmt: skip
    assert [(member.name, member.key, member.sessions) for member in keys.members] == [
        ("monday.jsonl", "chat_id", 2), ("tuesday.jsonl.gz", "conversation_id", 3),
    ]  # fmt: skip
    assert set(keys.choices) == {
        KeyChoice("chat_id", 6, 3), KeyChoice("conversation_id", 6, 4), KeyChoice("trace_id", 12, 5)
    }  # fmt: skip
    assert list(sessions(path)[0]) == ["m0", "m1", "d0", "d1", "d2"]


@pytest.mark.parametrize("key", ["trace_id", "chat_id", "conversation_id", NO_KEY, "nope"])
def test_a_key_told_for_an_archive_gives_as_many_sessions_as_are_shown(tmp_path, key):
    path = packed(tmp_path, MEMBERS)
    keys = session_keys(path, path.name, key=key)
    found, problems = sessions(path, key)
    assert keys is not None and keys.told and keys.is_sure
    assert keys.sessions == len(found)
    shown = session_keys(path, path.name)
    assert shown is not None
    assert [choice.sessions for choice in shown.choices if choice.key == key] in ([], [len(found)])
    missing = [name for name, lines in MEMBERS.items() if name != "notes.jsonl" and key not in (*lines[0], NO_KEY)]
    assert [line.partition(":")[0] for line in problems if "no entry has the session key" in line] == missing


def test_a_large_archive_is_looked_at_up_to_a_size(tmp_path):
    path = packed(tmp_path, MEMBERS)
    keys = session_keys(path, path.name, most=10)
    assert keys is None or keys.cut
    size = len("\n".join(map(json.dumps, MEMBERS["monday.jsonl"])))
    keys = session_keys(path, path.name, most=size)
    assert keys is not None and (keys.files, keys.entries, keys.cut) == (1, 6, True)
