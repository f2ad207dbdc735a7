"""Text for a terminal, as the drawings below this room make it."""

from hansard.render.text import BREAKS, ESCAPES, FORBIDDEN, Paint, clean, fit, fit_path, one_line, pad, width, wrap

__all__ = ["BREAKS", "ESCAPES", "FORBIDDEN", "Paint", "clean", "fit", "fit_path", "one_line", "pad", "width", "wrap"]
