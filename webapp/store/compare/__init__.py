"""Two profiles over the same responses: how many each reads, the same or not, and which responses these are."""
