"""What is kept, and for how long: forgetting what the user wants gone, freeing the client's folders, and policies.

It decides what goes; `sync.erasing` carries it out.
"""
