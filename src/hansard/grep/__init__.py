"""Search over every byte of the record with a regular expression: patterns, lines, and helper processes for a large one."""
