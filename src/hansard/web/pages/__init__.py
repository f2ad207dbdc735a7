"""The pages, one module per navigation entry: parse the request, call the engine, fill a template."""
