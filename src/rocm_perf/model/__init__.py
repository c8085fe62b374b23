"""What a recording becomes: one columnar Trace, whatever tool wrote it."""
