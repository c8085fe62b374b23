"""nvidia-smi: --query-gpu for the fields of an H200, --version, -L, locking of clocks. The words of a missing driver
are the real ones."""

from __future__ import annotations

import sys
import time

from . import settings

_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running.\n"
)
DRIVER = "580.159.04"
_FIELDS = {
    "name": ("NVIDIA H200", ""),
    "memory.total": ("143771", "MiB"),
    "memory.used": ("0", "MiB"),
    "compute_cap": ("9.0", ""),
    "driver_version": (DRIVER, ""),
    "power.draw": ("75.40", "W"),
    "power.draw.instant": ("75.40", "W"),
    "enforced.power.limit": ("700.00", "W"),
    "clocks.sm": ("345", "MHz"),
    "clocks.mem": ("3201", "MHz"),
    "temperature.gpu": ("29", ""),
    "utilization.gpu": ("0", "%"),
    "utilization.memory": ("0", "%"),
}


def main(arguments: list[str]) -> int:
    if settings.fault()[0] == "permission":
        sys.stdout.write(_NO_DRIVER)
        return 9
    if settings.fault()[0] == "hang":
        time.sleep(3600)
    for argument in arguments:
        if argument.startswith(("--lock-gpu-clocks=", "--reset-gpu-clocks")):
            settings.note_clocks(argument)
            print("All done.")
            return 0
        if argument.startswith("--query-gpu="):
            return _query(argument.partition("=")[2].split(","), arguments)
    if arguments == ["-L"]:
        for index in range(settings.gpu_count()):
            print(f"GPU {index}: NVIDIA H200 (UUID: {_value('uuid', index)[0]})")
        return 0
    print(f"NVIDIA-SMI version  : {DRIVER}\nNVML version        : 580.159\nDRIVER version      : {DRIVER}")
    print("CUDA Version        : 13.0")
    return 0


def _query(fields: list[str], arguments: list[str]) -> int:
    form = next((word.partition("=")[2] for word in arguments if word.startswith("--format=")), "csv").split(
        ","
    )
    for field in fields:
        if _value(field, 0)[0] == "":
            print(f'Field "{field}" is not a valid field to query.\n')
            return 2
    if "noheader" not in form:
        print(", ".join(fields))
    for index in range(settings.gpu_count()):
        cells = [_value(field, index) for field in fields]
        print(", ".join(value if "nounits" in form else f"{value} {unit}".rstrip() for value, unit in cells))
    return 0


def _value(field: str, index: int) -> tuple[str, str]:
    own = {
        "index": str(index),
        "uuid": f"GPU-25a0436b-795b-0afe-263f-57ec955706{index:02x}",
        "pci.bus_id": f"00000000:{6 + index:02X}:00.0",
    }
    return (own[field], "") if field in own else _FIELDS.get(field, ("", ""))
