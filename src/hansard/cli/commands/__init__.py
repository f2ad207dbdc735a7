"""One module for each command, by its name: parse the arguments, make one call to the engine, format the answer once."""
