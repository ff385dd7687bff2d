"""Archives: members as dumps of their own; names that lead out, links, crowds and bombs refused with their place."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile

import pytest

from tests.dumps.conftest import gather
from webapp.dumps import archive_members, budget
from webapp.dumps.budget import BadDump, TooLarge
from webapp.dumps.spool import zipfile as zstd_zipfile

CHAT = json.dumps([{"role": "user", "content": "Hi"}])
RUN = json.dumps([{"task_id": 1, "trial": 2, "traj": [{"role": "assistant", "content": "A"}]}])
Members = dict[str, str | bytes]


def data(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def zipped(members: Members) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w") as member:
                member.write(data(content))
    return out.getvalue()


def tarred(members: Members) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data(content))
            archive.addfile(info, io.BytesIO(data(content)))
    return out.getvalue()


PACKERS = pytest.mark.parametrize("pack", [zipped, tarred])


@PACKERS
def test_every_member_is_a_dump(got, pack):
    members = {
        "runs/chat.json": CHAT,
        "runs/tau.json": RUN,
        "notes.bin": b"\x89PNG\0",
        "c.json.gz": gzip.compress(data(CHAT)),
    }
    found = got(pack(members), "all.bin")
    assert found.ids == ["runs/chat", "1/2", "c"]
    assert [start.source_format for start in found.starts] == ["openai", "tau_bench", "openai"]
    assert [turn.raw for turns in found.turns for turn in turns] == ["Hi", "A", "Hi"]
    assert [problem.at for problem in found.problems] == ["notes.bin"]
    assert "fencepost ingest" not in found.problems[0].reason


@PACKERS
def test_sessions_of_one_name_are_told_apart(got, pack):
    found = got(pack({"a/chat.json": CHAT, "b/chat.json": CHAT}), "x")
    assert found.ids == ["a/chat", "b/chat"]


@PACKERS
def test_a_member_without_a_name_is_read(got, pack):
    found = got(pack({"": CHAT, "tau.json": RUN}))
    assert [[turn.raw for turn in turns] for turns in found.turns] == [["Hi"], ["A"]]


@PACKERS
def test_a_format_told_is_for_the_members(got, pack):
    found = got(pack({"a.txt": '{"a": 1}', "b.txt": "B"}), "x", "responses")
    assert [turn.raw for turns in found.turns for turn in turns] == ['{"a": 1}', "B"]


@PACKERS
@pytest.mark.parametrize("name", ["../out.json", "a/../../out.json", "/etc/out.json", "C:/out.json", "a\\..\\b.json"])
def test_a_name_that_leads_out_is_not_read(got, pack, name):
    found = got(pack({"in.json": CHAT, name: CHAT}), "x")
    assert found.ids == ["in"]
    assert [problem.at.replace("\\", "/") for problem in found.problems] == [name.replace("\\", "/")]
    with pytest.raises(BadDump) as caught:
        got(pack({name: CHAT}), "x")
    assert caught.value.at.replace("\\", "/") == name.replace("\\", "/")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_of_a_tar(got, kind):
    out = io.BytesIO(tarred({"in.json": CHAT}))
    with tarfile.open(fileobj=out, mode="a") as archive:
        info = tarfile.TarInfo("link.json")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    found = got(out.getvalue(), "x")
    assert (found.ids, [problem.at for problem in found.problems]) == (["in"], ["link.json"])


def test_links_of_a_zip(got):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("in.json", CHAT)
        info = zipfile.ZipInfo("link.json")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    found = got(out.getvalue(), "x")
    assert (found.ids, [problem.at for problem in found.problems]) == (["in"], ["link.json"])


@PACKERS
def test_a_crowd_of_members_is_refused(got, pack, monkeypatch):
    monkeypatch.setattr(archive_members, "MOST_MEMBERS", 20)
    with pytest.raises(TooLarge) as caught:
        got(pack({f"{number}.txt": "" for number in range(20)}), "x")
    assert caught.value.at == "member 20"
    inner = pack({f"{number}.txt": "" for number in range(10)})
    with pytest.raises(TooLarge) as caught:
        got(pack({"a.zip": inner, "b.zip": inner}), "x")
    assert caught.value.at == "b.zip: member 20"


def test_a_bomb_that_lies_about_its_size(got):
    packed = bytearray(zipped({"bomb.json": b"0" * 70_000_000}))
    size = (70_000_000).to_bytes(4, "little")
    while (at := packed.find(size)) >= 0:
        packed[at : at + 4] = (1000).to_bytes(4, "little")
    with pytest.raises(BadDump):
        got(bytes(packed), "x")


@PACKERS
def test_an_archive_in_an_archive_is_read_and_one_in_that_is_not(got, pack):
    found = got(pack({"in.json": CHAT, "more.zip": pack({"a.json": CHAT, "deep.zip": zipped({"b.json": CHAT})})}), "x")
    assert (found.ids, [problem.at for problem in found.problems]) == (["in", "a"], ["more.zip: deep.zip: byte 0"])


def test_archives_in_an_archive_share_what_they_may_become(got):
    inner = zipped({"zeros.json": b"0" * 30_000_000})
    found = got(zipped({"in.json": CHAT, **{f"{number}.zip": inner for number in range(3)}}), "x")
    assert found.ids == ["in"]
    assert (found.problems[-1].at, "bomb" in found.problems[-1].reason) == ("2.zip: zeros.json", True)


@PACKERS
def test_a_damaged_archive(got, pack):
    whole = pack({"a.json": CHAT * 100, "b.json": RUN * 100})
    for end in range(4, len(whole), max(1, len(whole) // 40)):
        try:
            got(whole[:end], "x", "archive")
        except BadDump as refusal:
            assert refusal.at


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 93])
def test_a_damaged_member_is_a_problem(got, method):
    out = io.BytesIO()
    with zstd_zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("a.jsonl", "".join(map(str, range(9000))))
        archive.writestr("b.jsonl", '{"id": 1, "text": "B"}\n')
    packed = bytearray(out.getvalue())
    packed[200:240] = bytes(byte ^ 0x5A for byte in packed[200:240])
    found = got(bytes(packed), "x")
    assert any(problem.at == "a.jsonl" and "damaged" in problem.reason for problem in found.problems)
    assert "B" in [turn.raw for turn in found.only]


def test_an_encrypted_member_is_a_problem(got):
    packed = bytearray(zipped({"a.json": CHAT}))
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(BadDump, match="encrypted"):
        got(bytes(packed), "x")


def test_no_archive_at_all(got):
    with pytest.raises(BadDump, match="neither a zip nor a tar"):
        got(CHAT, "x", "archive")


def test_an_eval_file_among_others(got):
    log = {"version": 2, "eval": {"run_id": "r"}}
    sample = {"id": 1, "epoch": 1, "messages": [{"role": "assistant", "content": "A"}]}
    inner = zipped({"header.json": json.dumps(log), "samples/1_epoch_1.json": json.dumps(sample)})
    found = got(zipped({"chat.json": CHAT, "log.eval": inner}), "x")
    assert found.ids == ["chat", "r/1/1"]


def test_zstd_within_a_zip_and_what_a_mac_writes_beside_files(got):
    out = io.BytesIO()
    with zstd_zipfile.ZipFile(out, "w", zstd_zipfile.ZIP_ZSTANDARD) as archive:
        archive.writestr("a.jsonl", '{"role": "user", "content": "q"}\n{"role": "assistant", "content": "A"}\n')
        archive.writestr("__MACOSX/._a.jsonl", b"\0\5\26\7")
        archive.writestr(".DS_Store", b"\0\0\0\1Bud1")
        for name in (".env", ".git/HEAD", ".ipynb_checkpoints/a-checkpoint.jsonl"):
            archive.writestr(name, "ref: refs/heads/main\n")
    found = got(out.getvalue(), "x")
    assert ([turn.raw for turn in found.only], found.problems) == (["q", "A"], [])


def test_a_member_that_is_compressed_in_an_unknown_way_is_no_damage(got):
    data = bytearray(zipped({"a.txt": "a" * 100, "b.jsonl": '{"id": 1, "text": "B"}\n'}))
    for at in (data.index(b"PK\3\4") + 8, data.index(b"PK\1\2") + 10):
        data[at : at + 2] = (97).to_bytes(2, "little")
    found = got(bytes(data), "x")
    assert "compressed in a way that is not read here" in found.problems[0].reason
    assert [turn.raw for turn in found.only] == ["B"]


CALL = {"id": "c1", "function": "bash", "arguments": {"cmd": "attachment://aa"}, "type": "function"}
MESSAGES = [
    {"role": "user", "content": "attachment://aa", "id": "m1"},
    {
        "role": "assistant",
        "id": "m2",
        "content": [{"type": "reasoning", "reasoning": "Hm"}, {"type": "text", "text": "A"}],
    },
    {"role": "assistant", "id": "m3", "content": "", "tool_calls": [CALL]},
    {
        "role": "tool",
        "content": "",
        "tool_call_id": "c1",
        "function": "bash",
        "error": {"type": "parsing", "message": "no"},
    },
]
EVENT = {
    "event": "model",
    "timestamp": "2025-02-11T15:17:00-05:00",
    "output": {"choices": [{"message": {"id": "m2"}}], "usage": {"input_tokens": 3, "output_tokens": 4}},
}
SAMPLE = {"id": "s", "epoch": 2, "messages": MESSAGES, "attachments": {"aa": "The long text"}, "events": [EVENT]}
LOG = {"version": 2, "status": "success", "eval": {"eval_id": "e1", "task": "t", "model": "openai/gpt"}}


def eval_file(**members: object) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return out.getvalue()


def test_an_eval_file_says_the_same(got):
    plain = got(json.dumps({**LOG, "samples": [SAMPLE]}))
    packed = got(eval_file(**{"header.json": LOG, "samples/s_epoch_2.json": SAMPLE, "summaries.json": []}), "log.eval")
    assert packed.starts == plain.starts
    assert packed.turns == plain.turns


def test_an_eval_file_that_ended_early_has_its_journal(got):
    found = got(eval_file(**{"_journal/start.json": LOG, "samples/s_epoch_2.json": SAMPLE}), "log.eval")
    assert found.ids == ["e1/s/2"]


def test_a_damaged_sample_is_a_problem(got):
    members = {"header.json": LOG, "samples/a_epoch_1.json": "{nope", "samples/s_epoch_2.json": SAMPLE}
    found = got(eval_file(**members), "log.eval")
    assert (found.ids, [problem.at for problem in found.problems]) == (["e1/s/2"], ["samples/a_epoch_1.json"])


def test_tool_errors_of_the_corpus(shared):
    path = shared / "corpus" / "inspect_ai" / "log_tool_call_error.json"
    turns = gather(path, path.name).only
    assert [turn.parent for turn in turns if turn.failure] == ["bash_1", "bash_3"]


def test_the_entries_of_an_eval_are_its_messages(shared):
    for path in sorted((shared / "corpus" / "inspect_ai").glob("*.eval")):
        found = gather(path, path.name)
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            samples = [json.loads(archive.read(name)) for name in names]
        assert [found.entries(session) for session in range(len(names))] == [sample["messages"] for sample in samples]


ANSWER = 'The answer {"a": 1,}'


def test_openhands_events_a_file_each_are_one_session(got):
    archive = io.BytesIO()
    events = [
        {"source": "user", "kind": "MessageEvent", "llm_message": {"role": "user", "content": "q"}},
        *({"source": "agent", "kind": "PauseEvent"} for _ in range(9)),
        {"source": "agent", "kind": "MessageEvent", "llm_message": {"role": "assistant", "content": ANSWER}},
    ]
    with zipfile.ZipFile(archive, "w") as members:
        for number, event in reversed(list(enumerate(events))):
            members.writestr(f"conv/events/event-{number}-x.json", json.dumps({"id": str(number), **event}))
    found = got(archive.getvalue(), "conversation.zip")
    assert (found.ids, found.problems, found.alarms) == (["conv"], [], [])
    said = [(turn.kind, turn.raw) for turn in found.only]
    assert [said[0], said[-1]] == [("prompt", "q"), ("response", ANSWER)] and len(said) == 11


def test_a_file_whose_number_is_longer_than_python_reads_is_no_event(got):
    archive, event = io.BytesIO(), {"source": "user", "action": "message", "args": {"content": "q"}}
    with zipfile.ZipFile(archive, "w") as members:
        for name in ("1", "2", "9" * 5000):
            members.writestr(f"conv/events/{name}.json", json.dumps(event))
    found = got(archive.getvalue(), "conversation.zip")
    assert [turn.raw for turn in found.only] == ["q", "q"]
    assert [problem.reason for problem in found.problems] == ["not an event; it was left out"]


def test_a_packed_table_of_too_many_rows_is_kept_up_to_there(got, monkeypatch):
    monkeypatch.setattr(budget, "STRICT_RECORDS", 6)
    with budget.reading(budget.Budget(20, is_strict=True)):
        found = got("prompt,response\n" + "q?,an answer\n" * 9, "many.csv")
    assert [turn.raw for turn in found.only][:2] == ["q?", "an answer"]
    assert "it has more than 6 records" in found.problems[-1].reason
