"""Records a running agent's prompts and responses; this folder alone, copied under any name, needs nothing but Python.

Nothing here blocks or breaks the program that records: what goes wrong is counted in `dropped` and said in
`last_error`. What it costs and what it promises: docs/recorder.md.
"""

from .journal import Refused
from .recorder import Recorder

__all__ = ["Recorder", "Refused"]
