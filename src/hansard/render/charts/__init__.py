"""Charts: SVG drawn by the server, pure functions from values to markup.

What may enter: shapes. Colours are classes of the style sheets, since a page may not carry style of its own; a value is read by
hovering, by focus or by a screen reader, from the same `<title>`. Widths are in per cent and heights in pixels, so a chart
fits a phone and a wide screen with letters of the same size.
"""
