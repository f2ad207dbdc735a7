"""The ledger: every token counted once, every cent explained.

`report` adds up, `explain` traces a figure down to its lines, `reconcile` compares it with other counts, `blocks` and `current`
watch current spending. All of them read the same two sources: `spending` (sums per quarter of an hour) and,
where that is too coarse, `charges` (one row per message); both have the same columns.
"""
