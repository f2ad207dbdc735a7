"""Recall: a question in plain words is answered with the best passages of the whole history.

`question` finds the words that matter and their forms, `candidates` the blocks worth reading, `windows` joins what was said
around them, `passages` cuts and scores text, `answer` puts it all together.
"""
