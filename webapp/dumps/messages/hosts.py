"""Who served a model, and whether a tool's result is an error: what an entry says of that beside its messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

_PROVIDERS = (
    *("provider", "provider_name", "providerName", "llm_provider", "custom_llm_provider", "model_provider"),
    *("providerID", "providerId", "provider_id", "modelProvider"),
)
_BASES = ("base_url", "baseURL", "baseUrl", "api_base", "apiBase", "endpoint", "server_url", "openai_api_base")
_URLS = ("url", "uri", "target_url", "request_url")
_ADDRESSES = ("server.address", "server_address")
_VENDORS = ("ls_provider", "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
_PRINTS = ("system_fingerprint", "systemFingerprint", "gen_ai.openai.response.system_fingerprint")
_RANKS = {
    key: rank for rank, keys in enumerate((_PROVIDERS, _BASES, _URLS, _ADDRESSES, _VENDORS, _PRINTS)) for key in keys
}
"""what names a host, by how sure that is: the lowest wins"""
_OF_URL = (1, 2)
_NAMED = frozenset(_RANKS)
_INTO = (
    *("request", "response", "body", "message", "metadata", "response_metadata", "responseMetadata", "extra", "info"),
    *("kwargs", "params", "litellm_params", "hidden_params", "_hidden_params", "invocation_params", "attributes"),
    *("model_parameters", "modelParameters", "config", "client", "payload", "outputs", "raw_response"),
)
_RESULTS = ("message", "content", "result", "toolResult")
_MODEL_PATH = re.compile(r"/v\d|chat|completion|messages|responses|generat|converse|invoke|/models?/|/api/", re.I)
_MOST, _LONGEST = 100, 200
_WORD = re.compile(r"[\w][\w .:@/+-]*")


Host = tuple[int, str]
"""Who may have served a model, behind how sure that is: the lowest is the surest."""


def hosts_of(entry: Any) -> list[Host]:
    """The providers that an entry names, the addresses that were asked, and what is a sign of either."""
    return [host for each in under(entry, _INTO) if not _NAMED.isdisjoint(each) for host in _named(each)]


def asked_at(url: str) -> list[Host]:
    """The address of a request to a model."""
    host = address(url)
    return [] if host is None else [(_OF_URL[0], host)]


def _named(holder: dict[str, Any]) -> Iterator[Host]:
    for key, rank in _RANKS.items():
        value = holder.get(key)
        if not isinstance(value, str) or not value or len(value) > 2_000:
            continue
        host = address(value, is_sure=rank == 1) if rank in _OF_URL else _word(value)
        if host is not None:
            yield rank, host


def address(url: str, *, is_sure: bool = True) -> str | None:
    """The host of a URL, with its port where it is named; None of what is none, or asks no model as far as is known."""
    try:
        parts = urlsplit(url if "://" in url else "")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or not (is_sure or _MODEL_PATH.search(parts.path)):
        return None
    return _word(host if port in (None, 80, 443) else f"{host}:{port}")


def _word(value: str) -> str | None:
    return value if len(value) <= _LONGEST and _WORD.fullmatch(value) else None


def says_error(entry: dict[str, Any]) -> bool | None:
    """Whether each result of an entry is marked as an error; None where no mark says anything."""
    marks = [mark for each in under(entry, _RESULTS) for mark in _marks(each)]
    return all(marks) if marks else None


def _marks(result: dict[str, Any]) -> Iterator[bool]:
    for key in ("is_error", "isError"):
        if isinstance(result.get(key), bool):
            yield result[key]
    if result.get("type") == "tool_result" and "is_error" not in result:
        yield False
    if result.get("status") == "error":
        yield True


def under(entry: Any, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """The entry and the objects that these keys lead to, in lists as well; some hundred of them."""
    found: list[dict[str, Any]] = [entry] if isinstance(entry, dict) else []
    for each in found:
        for key in keys:
            if (value := each.get(key)) is not None:
                inner = value if isinstance(value, list) else (value,)
                found.extend(item for item in inner[:_MOST] if isinstance(item, dict))
        if len(found) >= _MOST:
            break
    return found
