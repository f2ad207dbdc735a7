"""The frozen values shared by all packages above the indexes. None of them carries a storage id; times are aware UTC.

Import them from their modules: no command needs them all.
"""
