"""What runs in the user's process while it is measured: the standard library, and what the target itself imported."""
