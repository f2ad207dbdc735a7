"""The verbatim store: every byte of every file that was seen, in one SQLite database that is never rebuilt.

This room knows files and bytes. No JSON, no session, no message enters here; what bytes mean is decided further up.
`store.Record` is the way in; `verify` and `restore` are built on it.
"""
