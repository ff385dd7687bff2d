"""Other people's parsers, run unchanged in a process of their own, with what they hand to decoders recorded.

What enters: the name of a callable, and a response. What leaves: a `ParserOutcome`, which is the value or the error and
the decoder calls in order, each located in the response.
"""
