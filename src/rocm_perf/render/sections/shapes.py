"""How the shapes of an operator's arguments are written."""

from __future__ import annotations

import re


def argument_sizes(shapes: str | None) -> str:
    """The sizes of the arguments that have any: `32x2880, 2880x5120`."""
    return ", ".join(
        "x".join(re.findall(r"\d+", sizes)) for sizes in re.findall(r"\[([\d, ]+)\]", shapes or "")
    )
