"""The pages, one module for each place of the navigation: read what is asked, ask the engine, fill a template."""
