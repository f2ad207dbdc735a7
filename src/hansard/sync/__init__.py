"""Brings a store up to date: the only package that connects sources, clients, record and index.

The algorithm is described in `hansard.sync.run.sync`.
"""
