"""The chip behind a compute capability: runtimes state one of AMD's GPUs too, as the digits of its gfx."""

from __future__ import annotations

# 9.4 and 9.5 name one product line each; others (9.0, 11.0) name several.
_AMD = {(9, 4): "gfx942", (9, 5): "gfx950"}


def amd_chip(major: int | None, minor: int | None) -> str | None:
    """The gfx of an AMD GPU that states this capability; None where it may be one of several."""
    return None if major is None or minor is None else _AMD.get((major, minor))
