"""Claude Code: wire shapes, tolerant decoding, and the fold of one transcript into rows.

Knows JSON and the client's formats; knows no database and no file system.
"""
