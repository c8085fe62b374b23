"""What libraries log of their calls: one parser for each, a line at a time."""
