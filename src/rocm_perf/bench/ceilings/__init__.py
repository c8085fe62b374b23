"""What the GPU of this machine reaches: measured, kept in a file, and handed to the analyses."""
