"""The version of the package, and nothing else: every layer may import it."""

__version__ = "0.1.0"
