"""The verbatim store: every byte of every file that was seen, in one SQLite database that is never rebuilt.

This room knows files and bytes, and what the user remarked, which exists nowhere else. No JSON, no message enters here, a session
is but a name; what bytes mean is decided further up.
`store.Record` is the way in; `verify` and `restore` are built on it.
"""
