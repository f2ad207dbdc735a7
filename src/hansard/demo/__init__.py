"""An invented history that looks like a real client's, for `hansard demo` and the tests.

`history` writes two believable months; `session_writer` is the small builder under it, and what tests use to make the session they
need. Everything is seeded: the same seed and the same `now` give the same bytes. The room knows how transcripts are written
and nothing of how they are read.
"""
