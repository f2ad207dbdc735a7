"""The tools, one module each: what it takes, what it gives, and the question that it asks the engine."""
