"""Accounts: who may sign in and do what, API tokens, the audit log. In: names and passwords; out: whose rights hold."""
