"""The store: SQLAlchemy models and every query; knows nothing of Flask.

Its packages stand in layers, and none imports one above it: `jobs`, `exports` and `scores`; `labels`, `live` and
`statistics`; `ingest`; `sessions`; `parts`; `write` and `index`; `search`; `models`; `db`.
"""
