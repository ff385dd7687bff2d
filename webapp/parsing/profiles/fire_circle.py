"""A dialogue's evaluations, mode resilient: fence, double braces, brace counting, and finally numbers in the text."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._fire_circle import gives_up, grep, read

STEPS = (
    "1. Strips white space. 2. Takes what follows the first ```json, else the first ```python, else the first ```, up "
    "to the next ```, stripped. 3. A leading {{ loses one {. 4. Whether or not that was so, a text that ends in }} "
    "loses one }. 5. If it starts with {, cuts after the brace that balances the first; braces inside strings count. "
    "6. Decodes, with control characters allowed in strings. 7. Requires truth, indeterminacy, falsehood, reasoning. "
)
DEPARTS = (
    "\nDifferences from its report: a missing closing fence is forgiven to the unlabelled fence only; the "
    "labelled ones raise ValueError. Step 4 breaks valid JSON that ends in }}, as every object "
    "does that ends with an object. "
    "Prose before unfenced JSON fails, since nothing looks for the first {. The program then turns the three values "
    "into numbers, which may fail too; the profile stops before that."
)


def run(tracer: Tracer) -> None:
    attempt = read(tracer)
    if not tracer.chosen:
        gives_up(tracer, attempt, "attempting text extraction fallback")
        grep(tracer)


plugin = Described(
    name="fire-circle",
    report="000",
    about=(
        STEPS + "8. If any of that fails, looks for truth, indeterminacy and falsehood in the response, each with "
        "colons or white space and then a number behind it; all three make a value. 9. Else the model becomes a "
        "zombie: it is left out of later rounds, and the circle goes on while enough models are left."
        + DEPARTS
        + " In "
        'step 8 "truth": 0.7 never matches, since a quote follows the word.'
    ),
    parser=run,
)
