"""The command line: one file a verb. Modules here import nothing heavy before they run."""
