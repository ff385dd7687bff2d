"""The store: SQLAlchemy models and every query; knows nothing of Flask.

Its packages stand in layers, of which none imports one above it: `pyproject.toml` lists them.
"""
