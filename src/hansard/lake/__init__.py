"""A lake: the public views of many machines as Parquet files in a directory or an object store, for DuckDB and Spark.

Each machine writes files of its own, whose names are hashes of their content, and one manifest that names those that are current. Readers
go by the manifests, and merge what several machines have with the rules of `hansard.sql.merging`. Nothing here changes the local store.
"""
