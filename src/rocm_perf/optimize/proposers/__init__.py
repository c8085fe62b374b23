"""Changes that others propose: patches in files, or the answers of any command. None of it is trusted."""
