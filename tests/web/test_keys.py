"""One letter, one meaning: every key of every template is in the one table from which `?` is drawn."""

from __future__ import annotations

import html
import re
from pathlib import Path

from flask.testing import FlaskClient

from webapp.web.palette import KEYS

TEMPLATES = Path(__file__).parents[2] / "templates"
NAMED = re.compile(r'data-key"?[=:] ?"([^"]+)"|"([^"]{1,6})" if loop\.index == 2|step\(around\.\w+, "([^"]+)"')
SHOWN = re.compile(r"<kbd[^>]*>([^<{]+)</kbd>")
OURS = {"Esc": "Escape", "Ctrl+Enter": "Enter", "Ctrl-K": "/"}


def test_every_key_has_the_one_meaning_of_the_table() -> None:
    meanings = list(KEYS.values())
    assert len(set(meanings)) == len(meanings)
    named: set[str] = set()
    for template in TEMPLATES.rglob("*.html"):
        text = template.read_text()
        assert "data-help" not in text, f"{template.name}: what a key means stands in webapp/web/palette.py"
        keys = {html.unescape(next(filter(None, groups))) for groups in NAMED.findall(text)}
        named |= {key for key in keys if "{" not in key}
        for key in SHOWN.findall(text):
            assert OURS.get(html.unescape(key), html.unescape(key)) in KEYS, f"{template.name}: {key}"
    assert named <= KEYS.keys()
    assert KEYS.keys() - named <= {*"123456789"}, "keys that no page has"


def test_the_list_of_keys_says_what_each_means(client: FlaskClient) -> None:
    page = client.get("/keys").text
    for key, meaning in KEYS.items():
        assert f'<dt data-of="{html.escape(key)}">' in page and html.escape(meaning) in html.unescape(page).replace(
            "'", "&#x27;"
        )
