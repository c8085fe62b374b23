"""What to do next, and how a run meets the usual targets."""
