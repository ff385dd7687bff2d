"""Final labels come in, and how often each profile reads what was meant goes out."""
