"""An OpenID provider on 127.0.0.1 that signs what a test tells it to, and checks what a client must send."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "fencepost", "client secret"


class Provider:
    """`claims` are put over those of an honest ID token; `key` signs it, `published` is what it says its key is."""

    def __init__(self) -> None:
        self.key = self.published = RSAKey.generate_key(2048, {"kid": "1"})
        self.claims: dict[str, Any] = {}
        self.without: set[str] = set()
        self.broken = False
        self.asked: dict[str, dict[str, str]] = {}
        self.issuer = ""

    def metadata(self) -> dict[str, Any]:
        pages = {"authorization": "authorize", "token": "token"}
        return {
            "issuer": self.issuer,
            **{f"{name}_endpoint": f"{self.issuer}/{page}" for name, page in pages.items()},
            "jwks_uri": f"{self.issuer}/jwks",
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        assert query["client_id"] == CLIENT and query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256" and query["nonce"] and "openid" in query["scope"].split()
        code = f"code {len(self.asked)}"
        self.asked[code] = query
        return f"{query['redirect_uri']}?{urllib.parse.urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any]:
        query = self.asked.pop(form["code"])
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        assert challenge.decode() == query["code_challenge"] and form["redirect_uri"] == query["redirect_uri"]
        assert base64.b64decode(authorization.removeprefix("Basic ")).decode() == f"{CLIENT}:{SECRET}"
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "7", "exp": now + 60, "iat": now, "nonce": query["nonce"]}
        claims = claims | {"preferred_username": "Ada"} | self.claims
        claims = {name: value for name, value in claims.items() if name not in self.without}
        answer = {
            "access_token": "a",
            "token_type": "Bearer",
            "id_token": jwt.encode({"alg": "RS256"}, claims, self.key),
        }
        return {name: value for name, value in answer.items() if name not in self.without}


class _Handler(BaseHTTPRequestHandler):
    provider: Provider

    def do_GET(self) -> None:
        parts = urllib.parse.urlsplit(self.path)
        if parts.path == "/authorize":
            query = dict(urllib.parse.parse_qsl(parts.query))
            self.send_response(302)
            self.send_header("Location", self.provider.authorize(query))
            self.end_headers()
        elif parts.path == "/jwks":
            self._answer({"keys": [self.provider.published.as_dict(private=False)]})
        else:
            self._answer(self.provider.metadata())

    def do_POST(self) -> None:
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self._answer(self.provider.token(form, self.headers["Authorization"]))

    def _answer(self, document: dict[str, Any]) -> None:
        body = b"broken" if self.provider.broken else json.dumps(document).encode()
        self.send_response(500 if self.provider.broken else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def running() -> Iterator[Provider]:
    """A provider that answers until the end."""
    provider = Provider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"provider": provider}))
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
