"""The store: SQLAlchemy models and every query; knows nothing of Flask."""
