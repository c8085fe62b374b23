"""A torch for CPUs that answers as if it had a GPU: importing this module dresses it up, for the whole process."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

_FACTS = SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, uuid="1111-22", multi_processor_count=132, total_memory=1 << 37
)


class _Event:
    def __init__(self, enable_timing: bool = False) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: _Event) -> float:
        return 1e3 * (end.at - self.at)


def _on_the_host(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*sizes: Any, device: str = "", pin_memory: bool = False, **options: Any) -> Any:
        return make(*sizes, **options)

    return made


torch.cuda.Event = _Event
torch.cuda.synchronize = torch.cuda.set_device = lambda *_: None
torch.cuda.get_device_properties = lambda _: _FACTS
torch.cuda.current_device = lambda: 0
torch.cuda.is_initialized = lambda: True
torch.cuda.current_stream = lambda: SimpleNamespace(synchronize=lambda: None)
torch.cuda.mem_get_info = lambda: (1 << 24, 1 << 24)
for _name in ("randn", "randint", "ones", "zeros", "empty"):
    setattr(torch, _name, _on_the_host(getattr(torch, _name)))
