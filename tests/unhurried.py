"""What a request does for a moment, and leaves the rest of for later, it does whole in tests on any machine.

What is slow on purpose is not: a password's hash, whose cost `tests/store/accounts` holds."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from argon2 import PasswordHasher
from jinja2 import FileSystemBytecodeCache
from werkzeug.routing import Rule

from webapp import text_patterns
from webapp.capture import loaded_code
from webapp.dumps import budget
from webapp.parsing.profiles import json_repair
from webapp.store import search
from webapp.store.accounts import accounts
from webapp.store.compare import profile_results
from webapp.store.jobs import failure_webhook
from webapp.store.labels import queue
from webapp.store.sessions import facets
from webapp.store.statistics import shares
from webapp.web import home_pages, login, templating

LONG = 600.0
"""seconds"""


def be_unhurried() -> None:
    """For this process. A test of what is left for later sets its own time. All apps share what is compiled."""
    compiler = sha256(Path(templating.__file__).read_bytes()).hexdigest()[:12]
    templating.OPTIONS["bytecode_cache"] = FileSystemBytecodeCache(pattern=f"fencepost-{compiler}-%s.cache")
    accounts._hasher = _cheap_hasher
    Rule._compile_builder = _builder  # type: ignore[method-assign]
    budget.MOST_SECONDS = round(LONG)
    text_patterns.SECONDS = json_repair.SECONDS = loaded_code.SAMPLE_SECONDS = LONG
    login.TIMEOUT = failure_webhook.TIMEOUT = round(LONG)
    search.LIMIT = facets.LIMIT = queue.LIMIT = shares.LIMIT = shares.ZOMBIE_LIMIT = LONG
    profile_results.SECONDS = home_pages.AT_ONCE = LONG


@cache
def _cheap_hasher() -> PasswordHasher:
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


_compile_builder = Rule._compile_builder
_BUILDERS: dict[tuple[object, ...], Any] = {}


def _builder(rule: Rule, append_unknown: bool = True) -> Any:
    """What writes the addresses of a route, which knows nothing of its app: compiling it took most of making one."""
    key = rule.rule, *rule._trace, repr(rule.defaults), append_unknown
    if key not in _BUILDERS:
        _BUILDERS[key] = _compile_builder(rule, append_unknown)
    return _BUILDERS[key]
