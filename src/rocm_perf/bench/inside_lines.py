"""What our programs inside the user's Python share: printing one JSON object per line, and describing the GPU. Standard
library alone; torch is handed in."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


class Printer:
    """Prints objects on stdout; whatever else is printed from now on goes to stderr."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def print(self, line: dict[str, Any]) -> None:
        """Print one object, at once."""
        self._lines.write(json.dumps(line) + "\n")
        self._lines.flush()


def describe_gpu(torch: Any, device: int) -> dict[str, Any]:
    """The GPU as torch describes it, in the words of MeasuredGpu."""
    facts = torch.cuda.get_device_properties(device)
    chip = getattr(facts, "gcnArchName", "") if torch.version.hip else f"sm_{facts.major}{facts.minor}"
    return {
        "name": facts.name,
        "gfx": chip.split(":")[0],
        "uuid": str(getattr(facts, "uuid", "")),
        "compute_units": facts.multi_processor_count,
        "memory_bytes": facts.total_memory,
    }
