"""Accounts, passwords, API tokens, the audit log, and the key that logins are signed with, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.store.made import on_sqlite
from webapp.config import Settings
from webapp.store.accounts import accounts, api_tokens, audit
from webapp.store.accounts.accounts import BadAccount
from webapp.store.models import Account, ApiToken, AuditEntry
from webapp.web.identity import secret_key

PASSWORD = "correct horse battery"


COSTLY = accounts._hasher
"""the hasher of production, where other tests have a cheap one"""


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    with engine.begin() as opened:
        yield opened


def stored(connection: sa.Connection, name: str) -> str | None:
    return connection.scalar(sa.select(Account.password).where(Account.name == name))


@on_sqlite
def test_a_name_that_cannot_be_seen_is_refused(connection: sa.Connection) -> None:
    for name in ["", " ", "a\nb", "\u202eada", "x" * 201, "\ud800", "a\0b"]:
        with pytest.raises(BadAccount):
            accounts.add(connection, name, "reader")


@pytest.mark.parametrize(("first", "second"), [("Ada", "aDA"), ("ﬁn", "fin"), ("Straße", "STRASSE"), ("é", "e\u0301")])
def test_names_that_look_alike_are_one(connection: sa.Connection, first: str, second: str) -> None:
    accounts.add(connection, first, "reader")
    with pytest.raises(BadAccount, match="there is an account"):
        accounts.add(connection, second, "reader")
    assert len(accounts.lines(connection)) == 1


@on_sqlite
def test_the_password_is_an_argon2_hash_with_a_salt(connection: sa.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "_hasher", COSTLY)
    for name in ("Ada", "Bo"):
        accounts.add(connection, name, "reader", password=PASSWORD)
    hashes = stored(connection, "Ada"), stored(connection, "Bo")
    assert all(text and text.startswith("$argon2id$v=19$m=19456,t=2,p=1$") for text in hashes)
    assert hashes[0] != hashes[1]


@on_sqlite
def test_an_unknown_name_takes_what_a_wrong_password_takes(
    connection: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasher, asked = COSTLY(), list[str]()
    monkeypatch.setattr(accounts, "_hasher", COSTLY)
    monkeypatch.setattr(accounts, "_nobody", lambda: hasher.hash(b"nobody's password"))

    class Watched:
        hash = hasher.hash

        def verify(self, stored: str, sent: bytes) -> bool:
            asked.append(stored[:28])
            return hasher.verify(stored, sent)

    accounts.add(connection, "Ada", "reader", password=PASSWORD)
    monkeypatch.setattr(accounts, "_hasher", Watched)
    assert [accounts.by_password(connection, name, "wrong") for name in ("Ada", "Eve")] == [None, None]
    assert asked == ["$argon2id$v=19$m=19456,t=2,p"] * 2


def test_signing_in_takes_the_right_password_alone(connection: sa.Connection) -> None:
    accounts.add(connection, "Ada", "reader", password=PASSWORD)
    accounts.add(connection, "Bo", "reader")
    account = accounts.by_password(connection, "ada", PASSWORD)
    assert account is not None and account.name == "Ada"
    assert accounts.find(connection, "Ada").signed_in_at is not None
    for name, password in (("Ada", PASSWORD + "x"), ("Ada", ""), ("Bo", ""), ("Bo", "nobody's password"), ("Eve", "x")):
        assert accounts.by_password(connection, name, password) is None


def test_a_token_is_kept_as_a_digest_and_used_for_its_scopes(connection: sa.Connection) -> None:
    number = accounts.add(connection, "Ada", "labeler")
    token = api_tokens.make(connection, number, "ci", ["label", "read"])
    kept = connection.execute(sa.select(ApiToken.digest, ApiToken.scopes)).one()
    assert token not in kept.digest and len(kept.digest) == 64 and kept.scopes == "read label"
    use = api_tokens.find(connection, token.encode())
    assert use is not None and use.account == "Ada" and use.rights == {"read", "label"} and not use.is_noted
    api_tokens.note_use(connection, use.id)
    assert api_tokens.lines(connection)[0].used_at is not None
    again = api_tokens.find(connection, token.encode())
    assert again is not None and again.is_noted
    assert api_tokens.find(connection, token[:-1].encode()) is None


def test_the_audit_log_is_read_from_its_end_in_pages(connection: sa.Connection) -> None:
    for number in range(5):
        about = {"author": "Ada" if number % 2 else "Bo", "via": "sign-in", "peer": "::1", "act": "labels.save"}
        entry = audit.begin(connection, AuditEntry(**about, object=f"POST /labels?at=\ud800{number}"))
        if number != 4:
            audit.finish(connection, entry, 303 if number else 422, {"judgement": "wrong"})
    lines = audit.page(connection, limit=3)
    assert [line.object[-1] for line in lines] == ["4", "3", "2"]
    assert [line.outcome for line in lines[:2]] == ["unknown: it never ended", "done (303)"]
    assert [line.object[-1] for line in audit.page(connection, before=lines[-1].id)] == ["1", "0"]
    assert {line.author for line in audit.page(connection, author="Bo")} == {"Bo"}
    assert audit.page(connection)[-1].outcome == "refused (422)"


@on_sqlite
def test_a_long_object_is_cut_and_says_so(connection: sa.Connection) -> None:
    entry = AuditEntry(author="Ada", via="v" * 300, peer="p" * 99, act="a", object="x" * 3000)
    audit.begin(connection, entry, 200)
    assert audit.page(connection)[0].object.endswith("… (1,000 characters cut)")


def test_machines_share_a_key_by_their_database_or_have_one_each(engine: sa.Engine, tmp_path: Path) -> None:
    def of(name: str) -> bytes:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        return secret_key(Settings(data=folder, database=""), engine)

    with ThreadPoolExecutor(4) as pool:
        keys = list(pool.map(of, ["a", "b", "c", "d"]))
    assert all(len(key) == 32 for key in keys)
    assert len(set(keys)) == (1 if engine.dialect.name == "postgresql" else 4)
    assert of("a") == keys[0]
    assert secret_key(Settings(data=tmp_path, database="", secret_key="k" * 32), engine) == b"k" * 32
