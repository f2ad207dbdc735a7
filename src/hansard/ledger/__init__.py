"""The ledger: every token counted once, every cent explained.

`report` adds up, `explain` shows a figure down to its lines, `reconcile` sets it beside what others count, `blocks`, `budgets`
and `current` watch what is being spent. All of them read the same two sources: `spending` (sums per quarter of an hour) and,
where that is too coarse, `charges` (one row per message); both have the same columns.
"""
