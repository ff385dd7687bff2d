"""`fencepost user`, `token` and `audit`, as somebody types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from webapp.cli import main
from webapp.commands.token import command
from webapp.config import SHORTEST_TOKEN, BadSetting, Settings

PASSWORD = "correct horse battery\n"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def invoke(*args: str, input: str | None = None, **env: str) -> Result:  # noqa: A002
        given = {"FENCEPOST_DATA": str(tmp_path), "FENCEPOST_DATABASE": "", "FENCEPOST_ACCOUNTS": "1"} | env
        return CliRunner().invoke(main, args, input=input, env=given)

    return invoke


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_an_account_is_added_listed_changed_and_removed(run: Run) -> None:
    assert "no account yet" in run("user", "list").output
    assert run("user", "add", "Ada", "--role", "admin", input=PASSWORD).output == "Ada may sign in as admin\n"
    assert run("user", "add", "ada", input=PASSWORD).exit_code == 1
    assert run("user", "role", "Ada", "reader").output == "Ada is reader, was admin\n"
    (line,) = answer(run("user", "list", "--json"))["accounts"]
    assert (line["name"], line["role"], line["has_password"]) == ("Ada", "reader", True)
    assert "password" not in line
    assert run("user", "password", "Ada", input=PASSWORD).exit_code == 0
    assert run("user", "remove", "Ada").exit_code == 2
    assert answer(run("user", "remove", "Ada", "--yes", "--json")) == {"removed": "Ada"}
    assert run("user", "remove", "Ada", "--yes").exit_code == 1


@pytest.mark.parametrize("given", ["", "short\n"])
def test_a_password_that_is_none_makes_no_account(run: Run, given: str) -> None:
    result = run("user", "add", "Ada", input=given)
    assert result.exit_code == 1 and "12 to 1,000" in result.output
    assert answer(run("user", "list", "--json")) == {"accounts": []}


def test_no_password_is_an_argument(run: Run) -> None:
    for verb in ("add", "password"):
        assert run("user", verb, "Ada", "--password", "x").exit_code == 2
        assert run("user", verb, "Ada", "reader", "x").exit_code == 2


def test_who_signs_in_elsewhere_has_none(run: Run) -> None:
    assert run("user", "add", "Ada", "--subject", "https://id.example 7").exit_code == 0
    assert run("user", "add", "Bo", "--no-password").exit_code == 0
    assert "OpenID" in run("user", "list").output and "no password" in run("user", "list").output
    assert run("user", "add", "Cy", "--subject", "https://id.example 7").exit_code == 1


def test_tokens_are_made_listed_and_revoked(run: Run) -> None:
    run("user", "add", "Ada", "--role", "admin", "--no-password")
    token = run("user", "token", "Ada", "ci", "--scope", "ingest").stdout.strip()
    assert token.startswith("fencepost_") and token not in run("user", "tokens").output
    (line,) = answer(run("user", "tokens", "Ada", "--json"))["tokens"]
    assert (line["name"], line["scopes"], line["used_at"]) == ("ci", ["ingest"], None)
    assert "never used" in run("user", "tokens").output
    assert run("user", "revoke", str(line["id"])).exit_code == 0
    assert run("user", "revoke", str(line["id"])).exit_code == 1
    assert "no API token" in run("user", "tokens").output
    assert run("user", "token", "Ada", "ci").exit_code == 2
    assert run("user", "token", "Eve", "ci", "--scope", "read").exit_code == 1


def test_all_of_it_is_in_the_audit_log(run: Run) -> None:
    assert "nothing is recorded yet" in run("audit").output
    run("user", "add", "Ada", "--role", "reader", input=PASSWORD)
    run("user", "token", "Ada", "ci", "--scope", "ingest")
    token = run("user", "token", "Ada", "ci", "--scope", "read").stdout.strip()
    entries = answer(run("audit", "--json"))["entries"]
    assert [(entry["act"], entry["object"], entry["outcome"]) for entry in entries] == [
        ("user token", "Ada", "done"),
        ("user add", "Ada", "done"),
    ]
    text = run("audit").output
    assert "command" in text and '"role"' in text and PASSWORD.strip() not in text and token not in text
    assert "nothing is recorded of Eve" in run("audit", "--by", "Eve").output


def test_it_says_when_no_page_asks_for_accounts(run: Run) -> None:
    assert "FENCEPOST_ACCOUNTS=1" in run("user", "add", "Ada", "--no-password", FENCEPOST_ACCOUNTS="").output
    assert "FENCEPOST_ACCOUNTS" not in run("user", "add", "Bo", "--no-password").output


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"ACCOUNTS": "yes"}, "0 or 1"),
        ({"ACCOUNTS": "0", "NEWCOMERS": "reader"}, "without FENCEPOST_ACCOUNTS=1"),
        ({"NEWCOMERS": "admin"}, "none, reader or labeler"),
        ({"PROXY_HEADER": "X-Remote-User"}, "needs FENCEPOST_PROXIES"),
        ({"PROXIES": "everybody"}, "must be addresses or networks"),
        ({"PROXIES": "10.0.0.1", "PROXY_HEADER": "X User"}, "name of a header"),
        ({"OIDC_ISSUER": "https://id.example"}, "go together"),
        ({"OIDC_ISSUER": "http://id.example", "OIDC_CLIENT": "a", "OIDC_SECRET": "b"}, "https://"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused_in_words(wrong: dict[str, str], words: str) -> None:
    environ = {f"FENCEPOST_{name}": value for name, value in ({"ACCOUNTS": "1"} | wrong).items()}
    with pytest.raises(BadSetting, match=words):
        Settings.from_environment(environ)


def test_all_of_accounts_is_off_by_default() -> None:
    settings = Settings.from_environment({})
    assert not settings.asks_login and not settings.accounts and settings.oidc_issuer is settings.proxy_header is None
    given = {"FENCEPOST_ACCOUNTS": "1", "FENCEPOST_PROXIES": "10.0.0.0/8, ::1", "FENCEPOST_PROXY_HEADER": "X-User"}
    assert Settings.from_environment(given).proxies == ("10.0.0.0/8", "::1/128")


def test_each_token_is_new_and_long_enough() -> None:
    first, second = (CliRunner().invoke(command, []).output.strip() for _ in range(2))
    assert first != second and min(len(first), len(second)) > SHORTEST_TOKEN


def test_as_json() -> None:
    assert len(json.loads(CliRunner().invoke(command, ["--json"]).output)["token"]) > SHORTEST_TOKEN


def test_a_short_secret_key_is_refused_in_words() -> None:
    with pytest.raises(BadSetting, match="32 characters or more; fencepost token makes one"):
        Settings.from_environment({"FENCEPOST_SECRET_KEY": "k" * 31})
    made = CliRunner().invoke(command, []).output.strip()
    assert Settings.from_environment({"FENCEPOST_SECRET_KEY": made}).secret_key == made
