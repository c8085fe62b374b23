"""The interface of a verb."""

from __future__ import annotations

import argparse
from typing import Protocol


class Command(Protocol):
    """One verb. Its docstring is its help text."""

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's own options."""

    def run(self, args: argparse.Namespace) -> int:
        """Run the verb and return the exit code."""
