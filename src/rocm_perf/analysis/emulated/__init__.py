"""What executing a kernel without a GPU tells of it: counts, its place under the roofs, what they point to."""
