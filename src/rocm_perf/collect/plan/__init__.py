"""From a request and a probed machine to runs of the program. Pure."""
