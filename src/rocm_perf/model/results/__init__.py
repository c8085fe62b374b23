"""Results of the analyses, one module an area: what renderers read."""
