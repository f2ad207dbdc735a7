"""Retention: forgetting what the user wants erased, freeing the client's folders, and policies.

It decides what goes; `sync.erasing` carries it out.
"""
