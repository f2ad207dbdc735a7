"""File numbers, in the size that a database keeps."""

# Inodes have up to 128 bits (ReFS), SQLite's integers 63: the low ones tell files apart well enough.
INODE_BITS = (1 << 63) - 1
