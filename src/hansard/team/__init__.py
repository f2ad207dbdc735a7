"""A team's database: the public views of many machines in one PostgreSQL, searched and reported as one history.

Machines push their own rows; the server's row-level security decides who may read them; views merge what several machines have. Nothing here
changes the local store.
"""
