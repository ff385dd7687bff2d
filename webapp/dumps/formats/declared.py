"""The formats that formats.toml declares and that need no code of their own."""

from webapp.dumps.declared import Declared, table

plugins = tuple(Declared(name) for name, spec in table().items() if "code" not in spec)
