"""Sessions: the list with its filters, one session's timeline, growth, selection and saved views."""
