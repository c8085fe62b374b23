"""The version of the package, and nothing else, so that every layer may import it."""

__version__ = "0.1.0"
