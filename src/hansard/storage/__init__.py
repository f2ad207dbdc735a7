"""Common to all databases: opening SQLite, ids, cursors, and the state of the last sync.

An id contains its place: the transcript in the upper bits, the byte offset of the line (plus a block's number) below.
"""

OFFSET_BITS = 40
OFFSET_MASK = (1 << OFFSET_BITS) - 1
