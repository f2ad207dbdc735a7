"""Reports of what sessions did and which operations were risky, which can be verified later.

Facts come from the index; the input of calls is read from the record, call by call. Nothing here formats.
"""
