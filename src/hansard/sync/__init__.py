"""The only joint of sources, record, parse and index: brings a store up to date with its sources.

The whole algorithm is written out above `hansard.sync.run.sync`.
"""
