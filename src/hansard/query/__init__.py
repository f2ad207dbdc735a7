"""Answers: reads `index.db` and the record, returns the frozen values of `hansard.model`. Front ends only format them."""
