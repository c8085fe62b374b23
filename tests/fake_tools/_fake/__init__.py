"""What the stand-ins for the ROCm tools share. Heavy modules are imported only where a recording is written."""

from __future__ import annotations

import sys
from pathlib import Path

_SOURCE = Path(__file__).resolve().parents[3] / "src"
if _SOURCE.is_dir() and str(_SOURCE) not in sys.path:
    sys.path.append(str(_SOURCE))  # for the tool alone: the application's environment stays as it is
