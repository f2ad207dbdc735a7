"""Cline, Roo Code and Kilo Code: a folder per task, with one document of messages that is written anew."""
