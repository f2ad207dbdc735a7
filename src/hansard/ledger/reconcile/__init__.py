"""Our total compared with other counting methods, each difference split by cause.

`line_store` reads every line that states usage; `rules` defines counting methods and walks from our total to theirs in steps that
add up; `peer_rules` has the methods of others; `client` checks the client's own figures, `peers` the real output of other tools.
"""
