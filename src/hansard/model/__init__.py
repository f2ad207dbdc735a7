"""The frozen values that every room above the indexes speaks in. None of them carries a storage id; times are aware UTC.

Import them from their modules: no command needs them all.
"""
