"""Home profiles: chosen for what comes in, changed afterwards, remembered as rules, and tried where unknown."""
