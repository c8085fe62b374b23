"""Running the program: attempts, the launch itself, where the recording lies, how it went."""
