"""Generators of large histories for the benchmarks: `bulk` by size, `dense` by searchable blocks, `metered` by API messages."""
