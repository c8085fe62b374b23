"""What libraries log of their calls."""
