"""The public views: tables with promised names and types over the index, for programs and other engines."""
