"""OpenAI messages: texts, each tool call's arguments as a response of its own, and what belongs to whom."""

from __future__ import annotations

import pytest


def test_messages_of_no_list(got):
    with pytest.raises(ValueError, match="messages: expected a list, found a number"):
        got('{"messages": 3}')
