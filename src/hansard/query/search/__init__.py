"""Search: a parsed query becomes a plan, the plan finds candidates, the best of them become a page with excerpts.

`spellings` knows how a word may be spelled, `plan` turns a query into full-text expressions and conditions,
`candidates` runs it, `ranking` scores, `excerpts` shows the match, `pages` puts it all together.
"""
