"""Labelling: queues, history, causes, settling, agreement and taking labels back; `store.labels` keeps the labels."""
