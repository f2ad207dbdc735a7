"""Continuing a session somewhere: in a slim or mended copy, in a new session of another client, or from a brief.

New sessions are new files, written through `changes`; nothing here touches an existing session.
"""
