"""MLflow's traces {"info", "data": {"spans"}}, whose spans name the one around them in hex or in base64."""

from __future__ import annotations

from typing import Any

from webapp.dumps.declared import Declared
from webapp.dumps.spans.attributes import id_hex


class MlFlow(Declared):
    def about(self, entry: dict[str, Any]) -> dict[str, Any]:
        parent = id_hex(entry.get("parent_span_id", entry.get("parent_id")), 8)
        return {**super().about(entry), **({"parent": parent} if parent else {})}


plugin = MlFlow("mlflow")
