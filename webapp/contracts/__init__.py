"""Calls and answers held against what their request declares: declarations and texts in, states out; pure."""

from webapp.contracts.contract import BROKEN as BROKEN
from webapp.contracts.contract import MISFITS as MISFITS
from webapp.contracts.contract import STATES as STATES
from webapp.contracts.contract import Contract as Contract
from webapp.contracts.contract import Declaration as Declaration
from webapp.contracts.contract import Mismatch as Mismatch
from webapp.contracts.held import Holder as Holder
from webapp.contracts.held import held_answer as held_answer
from webapp.contracts.held import held_call as held_call
