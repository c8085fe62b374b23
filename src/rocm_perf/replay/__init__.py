"""One kernel alone, with its memory, at its own addresses."""
