"""The setting of a recording, which is in `remedies` now."""

from __future__ import annotations

from rocm_perf.analysis.remedies.setting import Setting, setting

__all__ = ["Setting", "setting"]
