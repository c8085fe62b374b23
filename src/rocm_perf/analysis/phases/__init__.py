"""Which part of a recording is the work that repeats, and the recording cut to it."""
