"""A Trace in the tools' own formats, and as plain tables."""
