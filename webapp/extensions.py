"""The database of Flask's apps, made once and bound to an app in `create_app`."""

from flask_sqlalchemy_lite import SQLAlchemy

db = SQLAlchemy()
