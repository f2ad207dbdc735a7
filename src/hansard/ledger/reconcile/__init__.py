"""Our total beside what other ways of counting give, each difference split by its causes.

`line_store` reads every line that states usage; `rules` says what a way of counting is; `peer_rules` are those of others; `bridge` walks
from ours to theirs in steps that add up; `client` looks at the client's own figures, `peers` at the real output of other tools.
"""
