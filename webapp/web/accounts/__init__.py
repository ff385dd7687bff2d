"""Accounts in pages: one's own, everybody's for admins, the audit log, and signing in elsewhere."""
