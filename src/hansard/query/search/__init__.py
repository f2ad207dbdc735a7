"""Search: a parsed query becomes a plan, the plan finds candidates, the best of them become a page with excerpts.

`words` knows how a word may be spelled, `plan` what a query asks of the two indexes, `candidates` runs it, `ranking` weighs,
`excerpts` shows the place, `pages` puts it all together.
"""
