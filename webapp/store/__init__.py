"""The store: models and every query; it knows no Flask. The layers of its packages stand in `pyproject.toml`."""
