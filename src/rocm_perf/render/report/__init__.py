"""Documents as files that are handed on: Markdown, JSON files and their schemas."""
