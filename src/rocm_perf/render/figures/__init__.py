"""Pictures of a document: one module per figure, each a pure function from a result to a Figure, or to the reason why
there is nothing to draw."""
