"""What the wall time hangs on, and what a change would bring."""
