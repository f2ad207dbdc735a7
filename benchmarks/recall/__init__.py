"""Whether `recall` finds what a reader of the sessions knows to be there, beside simpler ways to look for it."""
