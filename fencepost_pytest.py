"""Pytest plugin of Fencepost: with `--fencepost cases.jsonl` each response of a file is a test of a parser.

It is loaded into every run of pytest in an environment that has Fencepost, so it imports nothing beyond the standard
library and does nothing without that option. The work is done by a process of its own, isolated from the folder that
pytest runs in: a package `webapp` there is the user's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FILE = "fencepost"
PROFILE = "fencepost_profile"
SPLIT = "fencepost_split"
WORKER = [sys.executable, "-I", "-m", "webapp.gate.worker"]


def pytest_addoption(parser):
    group = parser.getgroup("fencepost", "responses of language models as tests of a parser")
    group.addoption("--fencepost", dest=FILE, metavar="FILE", help="run the responses of FILE (JSON lines) as tests")
    group.addoption(
        "--fencepost-profile",
        dest=PROFILE,
        metavar="P",
        default="fencepost",
        help="the parser: a profile of Fencepost, or my_package:parse (default: %(default)s)",
    )
    group.addoption("--fencepost-split", dest=SPLIT, choices=("dev", "test"), help="only one half of the responses")


def pytest_configure(config):
    if config.getoption(FILE):
        config.pluginmanager.register(Cases(config), "fencepost-cases")


class Worker:
    """The process that judges: one line for each case, answered in order."""

    def __init__(self, file, profile, folder):
        self.process = subprocess.Popen(  # noqa: S603 - this Python and a module of ours
            WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, text=True, encoding="utf-8"
        )
        self.about = self.ask({"profile": profile, "file": str(file)})
        if "error" in self.about:
            self.close()
            raise pytest.UsageError(f"--fencepost: {self.about['error']}")

    def ask(self, request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise pytest.UsageError(f"--fencepost: its process ended with {self.process.wait()}; see its words above")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Cases:
    """What is registered with `--fencepost`: the cases are tests beside those that pytest collected."""

    def __init__(self, config):
        self.path = Path(config.invocation_params.dir, config.getoption(FILE))
        self.worker = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session, config, items):
        self.worker = Worker(self.path, config.getoption(PROFILE), config.invocation_params.dir)
        file = CaseFile.from_parent(session, name=self.path.name, nodeid=self.path.name, cases=self)
        cases = list(file.collect())
        if not cases:
            raise pytest.UsageError(f"--fencepost: no case of {self.path.name} is in that split")
        items.extend(cases)

    def pytest_report_header(self):
        return f"fencepost: {self.path}"

    def pytest_unconfigure(self):
        if self.worker is not None:
            self.worker.close()


class CaseFile(pytest.Collector):
    """The file as a node, so that tests are called `cases.jsonl::k7-3`."""

    def __init__(self, *, cases, **more):
        super().__init__(**more)
        self.cases = cases

    def collect(self):
        split = self.config.getoption(SPLIT)
        for case in self.cases.worker.about["cases"]:
            if split in (None, case["split"]):
                yield Case.from_parent(self, name=case["id"], called=case["called"], cases=self.cases)


class Failed(Exception):
    """A response was read otherwise than meant; the text draws how."""


class Case(pytest.Item):
    """One response: it is named by its id, and `called` in a report what people know it by."""

    def __init__(self, *, cases, called, **more):
        super().__init__(**more)
        self.cases, self.called = cases, called

    def runtest(self):
        answer = self.cases.worker.ask({"id": self.name})
        if answer["outcome"] == "unknown":
            pytest.skip(answer["text"])
        if answer["text"]:
            raise Failed(answer["text"])

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, Failed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.cases.path, None, self.called
