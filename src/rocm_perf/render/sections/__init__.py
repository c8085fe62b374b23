"""Every answer of a document, described once: terminal, Markdown and what comes later only lay it out."""
