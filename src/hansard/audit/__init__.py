"""What sessions did and what of it was risky: commands understood, rules applied, a report that can be checked later.

Facts come from the index; what calls were given is read from the record, call by call. Nothing here formats.
"""
