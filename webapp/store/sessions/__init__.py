"""Sessions are read: filters come in, and out goes what pages and the API show of sessions, turns and dumps."""
