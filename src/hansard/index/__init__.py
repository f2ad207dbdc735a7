"""The indexes: `index.db` holds rows, `text.db` the full text. Both are pure functions of the record, and disposable.

Only this room and `record` speak SQL for writing. Rows come from `hansard.clients`, bytes from `hansard.record`.
"""
