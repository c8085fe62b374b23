"""Recordings for programs that speak the Model Context Protocol: read-only tools over the runs of some folders."""
