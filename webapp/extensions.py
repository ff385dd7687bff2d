"""The Flask extensions, made once and bound to an app in `create_app`."""

from flask_htmx import HTMX
from flask_sqlalchemy_lite import SQLAlchemy

db = SQLAlchemy()
htmx = HTMX()
