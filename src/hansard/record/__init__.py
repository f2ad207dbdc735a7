"""The verbatim store: every byte of every file that was seen, in one SQLite database that is never rebuilt.

This package knows files and bytes, and the user's remarks, which exist nowhere else. It knows no JSON and no messages, and a session
is only a name; other packages decide what the bytes mean.
`store.Record` is the way in; `verify` and `restore` are built on it.
"""
