"""Invented histories that look like a real client's, for `hansard demo`, the tests and the benchmarks.

`history` writes two believable months, `hard` one session with everything in it, `bulk` a gigabyte for load; `scribe` is
the small builder under the first two, and what tests use to make the session they need. Everything is seeded: the same seed
and the same `now` give the same bytes. The room knows how transcripts are written and nothing of how they are read.
"""
