"""The clients whose histories are read: one folder for each knows its files, its format and the names of its tools.

The modules beside the folders hold what all of them give: lines, records, rows, state and usage.
"""
