"""Who makes a GPU."""

from __future__ import annotations

from typing import Literal

Vendor = Literal["AMD", "NVIDIA"]


def is_amd(architecture: str | None) -> bool:
    """Whether an architecture, gfx942 or sm_90, is one of AMD's."""
    return (architecture or "").startswith("gfx")


def is_nvidia(architecture: str | None) -> bool:
    """Whether it is one of NVIDIA's."""
    return (architecture or "").startswith("sm_")
