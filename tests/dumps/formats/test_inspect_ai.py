"""Inspect AI logs: sessions by sample and epoch, attachments resolved, parsing errors recorded, .eval as .json."""

from __future__ import annotations

import io
import json
import zipfile

from tests.dumps.conftest import gather

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


def zipped(**members: object) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return out.getvalue()


def test_an_eval_file_says_the_same(got):
    plain = got(json.dumps({**LOG, "samples": [SAMPLE]}))
    packed = got(zipped(**{"header.json": LOG, "samples/s_epoch_2.json": SAMPLE, "summaries.json": []}), "log.eval")
    assert packed.starts == plain.starts
    assert packed.turns == plain.turns


def test_an_eval_file_that_ended_early_has_its_journal(got):
    found = got(zipped(**{"_journal/start.json": LOG, "samples/s_epoch_2.json": SAMPLE}), "log.eval")
    assert found.ids == ["e1/s/2"]


def test_a_damaged_sample_is_a_problem(got):
    members = {"header.json": LOG, "samples/a_epoch_1.json": "{nope", "samples/s_epoch_2.json": SAMPLE}
    found = got(zipped(**members), "log.eval")
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
