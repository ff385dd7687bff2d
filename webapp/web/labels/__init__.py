"""Labels: the queue, the label of one turn, lists, causes, and what each profile makes of a response."""
