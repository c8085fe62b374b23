"""Who holds the memory of a GPU: how much is in use, by whom and from where, what grows, what lies in pieces."""
