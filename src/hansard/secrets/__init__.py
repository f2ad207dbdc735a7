"""Secrets in the record: found beside the syncs, listed with every place that holds them, and taken out on the user's order.

`store` is `secrets.db`, a disposable database; `scan` fills it. What a text holds is decided in `guard`.
"""
