"""Other people's parsers, run unchanged in a process of their own, with what they hand to decoders recorded."""
