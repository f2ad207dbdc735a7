"""Ids that tell the place of a thing: its transcript in the upper bits, the byte offset of its line (plus a block's number) below."""

OFFSET_BITS = 40
OFFSET_MASK = (1 << OFFSET_BITS) - 1
