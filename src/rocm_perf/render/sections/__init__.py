"""Every answer of a document, described once; the terminal and Markdown only lay it out."""
