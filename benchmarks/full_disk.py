"""Kills a server while its disk is full or read-only, and starts two at once; then looks for each acknowledged text.

    python -m benchmarks.full_disk [--rounds 20] [--seed 1]

Each round mounts a tmpfs of 3 to 8 MB (as root, on Linux), starts two `fencepost serve` over it at once, and sends
recordings until one is refused for want of room, while one server or the other is killed with SIGKILL at a random
moment. Then the disk is read-only for a start, which must say so in words, and grows; what was refused or unanswered is
sent again, and every response of every session is compared with what was sent. Prints one JSON document; exits with 1
where anything was wrong, with 2 where nothing can be mounted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
MOST, TURNS = 60, 40
"""sessions of a round, and responses of each"""


def mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], stderr=subprocess.DEVNULL).returncode == 0


class Server:
    """`fencepost serve` over a data folder."""

    def __init__(self, data: Path) -> None:
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": "", "PORT": str(port)}
        command = [sys.executable, "-m", "webapp", "serve", "--no-examples"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=pipe)

    def answers(self, seconds: float = 60) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            if self.ask("/healthz")[0] == 200:
                return True
            time.sleep(0.05)
        return False

    def ask(self, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """The status and the answer; 0 where there is none."""
        try:
            with urlopen(Request(self.url + path, body), timeout=60) as answer:
                return answer.status, answer.read()
        except HTTPError as refused:
            return refused.code, refused.read()
        except (URLError, OSError, HTTPException):
            return 0, b""

    def kill(self) -> str:
        self.process.kill()
        return self.process.communicate()[1].decode()


def recording(name: str, chance: random.Random) -> list[str]:
    return [json.dumps({"session": name, "turn": turn, "n": chance.randrange(10**9)}) for turn in range(TURNS)]


def sent(server: Server, name: str, texts: list[str]) -> int:
    rows = (
        {"session_id": name, "recorded_at": f"2026-11-24T10:00:{turn:02}Z", "kind": "response", "text": text}
        | {"model": "m" * 4000}
        for turn, text in enumerate(texts)
    )
    body = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    return server.ask(f"/api/dumps?filename={name}.jsonl", body)[0]


def round_of(folder: Path, chance: random.Random, told: Counter[str]) -> list[str]:
    """What was wrong in a round."""
    wrong, data = list[str](), folder / "data"
    servers = [Server(data), Server(data)]
    if not all(server.answers() for server in servers):
        return [f"two that start at once: {[server.kill()[-300:] for server in servers]}"]
    told["two started at once"] += 1
    sessions, waiting, kills = dict[str, list[str]](), list[str](), chance.sample(range(1, 25), 3)
    for number in range(MOST):
        name = f"s{number}"
        sessions[name] = recording(name, chance)
        at = chance.randrange(2)
        if number in kills:
            killer = subprocess.Popen(["sh", "-c", f"sleep {chance.random() / 20}; kill -9 {servers[at].process.pid}"])
        status = sent(servers[at], name, sessions[name])
        told[f"answered {status}"] += 1
        if status not in (200, 201):
            waiting.append(name)
        if number in kills:
            killer.wait()
            told["killed"] += 1
            servers[at].kill()
            servers[at] = Server(data)
            servers[at].answers()
        if status == 507 and number > max(kills):
            break
    words = [server.kill() for server in servers]
    wrong += [f"a traceback: {said[-300:]}" for said in words if "Traceback" in said]
    mount("-o", "remount,ro", str(folder))
    locked = Server(data)
    if locked.answers(20):
        wrong.append("it serves over a read-only folder")
    said = locked.kill()
    told["refused a read-only folder in words"] += "Traceback" not in said and bool(said.strip())
    if "Traceback" in said or not said.strip():
        wrong.append(f"read-only: {said[-300:]!r}")
    mount("-o", "remount,rw,size=256m", str(folder))
    server = Server(data)
    if not server.answers():
        return [*wrong, f"it does not start again: {server.kill()[-300:]}"]
    wrong += [f"{name} was refused again" for name in waiting if sent(server, name, sessions[name]) not in (200, 201)]
    for name, texts in sessions.items():
        status, answer = server.ask(f"/api/session/{name}?limit=500")
        shown = [turn["preview"] for turn in json.loads(answer)["turns"]] if status == 200 else []
        if shown != list(texts):
            wrong.append(f"{name}: {status}, {len(shown)} of {len(texts)} responses")
    server.kill()
    told["sessions compared"] += len(sessions)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance, told, wrong = random.Random(options.seed), Counter[str](), list[str]()
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="fencepost-full-") as name:
            if not mount("-t", "tmpfs", "-o", f"size={chance.randint(3, 8)}m", "tmpfs", name):
                sys.exit("a tmpfs cannot be mounted: run it as root, on Linux")
            try:
                wrong += round_of(Path(name), chance, told)
            finally:
                subprocess.run(["umount", "--lazy", name], check=False)
    print(json.dumps({"told": dict(told), "wrong": wrong}, indent=1))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
