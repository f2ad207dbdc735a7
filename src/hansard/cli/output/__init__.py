"""How answers look in a terminal: tables, charts, progress bars; the values come from the engine."""
