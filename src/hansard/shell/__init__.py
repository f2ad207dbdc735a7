"""Shell command lines: parsed, split into the commands they run, and what those do to files and hosts."""
