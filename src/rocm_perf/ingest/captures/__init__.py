"""Graph replays joined with the recording of their capture, which knows what launched each kernel."""
