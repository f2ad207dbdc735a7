"""The indexes: `index.db` has the rows, `text.db` the full text. Both are pure functions of the record, and disposable.

Only this package and `record` write with SQL. Rows come from `hansard.clients`, bytes from `hansard.record`.
"""
