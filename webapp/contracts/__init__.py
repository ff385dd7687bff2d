"""Calls and answers held against what their request declares: declarations and texts in, states out; pure."""

from webapp.contracts.held import held_answer as held_answer
from webapp.contracts.held import held_call as held_call
from webapp.contracts.states import BROKEN as BROKEN
from webapp.contracts.states import MISFITS as MISFITS
from webapp.contracts.states import STATES as STATES
from webapp.contracts.states import Contract as Contract
from webapp.contracts.states import Mismatch as Mismatch
