"""Charts as SVG: pure functions from values to markup, for pages and, by `figure`, for files.

In a page, colours are classes of its style sheets; widths are in per cent and heights in pixels, so that a chart fits a phone
and a wide screen with letters of the same size. Each value is also the `<title>` of its shape.
"""
