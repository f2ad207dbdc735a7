"""The web app: the whole history in a browser, drawn by the server.

What may enter: HTTP, templates, style and script. A page asks the engine through `engines`, never a database; texts of
transcripts reach HTML through Jinja's escaping or `render.html`, and nothing in a page may run but our own static files.
"""
