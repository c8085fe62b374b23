"""amd-smi version, list, static, metric and monitor, as text, JSON or CSV; set and reset of clocks."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from . import settings

Tree = dict[str, Any]

_COMMANDS = ("version", "list", "static", "metric", "monitor")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="amd-smi", description="AMD System Management Interface")
    commands = made.add_subparsers(dest="command", metavar="AMD-SMI Commands:")
    for name in _COMMANDS:
        command = commands.add_parser(name)
        shape = command.add_mutually_exclusive_group()
        shape.add_argument("--json", action="store_true")
        shape.add_argument("--csv", action="store_true")
        command.add_argument("--file")
        command.add_argument("--loglevel", choices=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
        if name != "version":
            command.add_argument("-g", "--gpu", nargs="+")
        if name in ("metric", "monitor"):
            command.add_argument("-w", "--watch", type=float)
            command.add_argument("-W", "--watch_time", type=float)
            command.add_argument("-i", "--iterations", type=int)
            for short, long in (
                ("-p", "--power"),
                ("-t", "--temperature"),
                ("-u", "--usage"),
                ("-c", "--clock"),
            ):
                command.add_argument(short, long, action="store_true")
            command.add_argument("-m", "--mem-usage", "--mem", action="store_true")
            command.add_argument("-v", "--vram-usage", action="store_true")
        if name == "static":
            for short, long in (("-a", "--asic"), ("-b", "--bus"), ("-v", "--vram"), ("-l", "--limit")):
                command.add_argument(short, long, action="store_true")
    setting, resetting = commands.add_parser("set"), commands.add_parser("reset")
    for command in (setting, resetting):
        command.add_argument("-g", "--gpu", nargs="+", required=True)
    setting.add_argument("-d", "--perf-determinism", type=int, metavar="SCLKMAX")
    resetting.add_argument("-d", "--perf-determinism", action="store_true")
    return made


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    if settings.fault()[0] == "permission":
        print("ERROR:root:Unable to get devices: permission denied on /dev/kfd", file=sys.stderr)
        return 255
    if settings.fault()[0] == "slow":
        time.sleep(settings.slow_s())
    if options.command in ("set", "reset"):
        return _determinism(options)
    if options.command in (None, "version"):
        versions = (
            f"AMDSMI Tool: 26.2.0 | AMDSMI Library version: 26.2.0 | ROCm version: {settings.rocm_text()}.0"
        )
        print(versions)
        return 0
    out = _shape(options)
    if options.file:
        with open(options.file, "w", encoding="utf-8") as file:
            file.write(out)
    else:
        sys.stdout.write(out)
    return 0


def _determinism(options: argparse.Namespace) -> int:
    if settings.fault()[0] == f"{options.command}-clocks":
        print("ValueError: Unable to change performance determinism", file=sys.stderr)
        return 1
    settings.note_clocks("reset" if options.command == "reset" else f"set {options.perf_determinism}")
    print("Successfully changed performance determinism")
    return 0


def _shape(options: argparse.Namespace) -> str:
    chosen = options.gpu or [str(number) for number in range(settings.gpu_count())]
    trees = [_TREES[options.command](int(number)) for number in chosen if number.isdigit()]
    trees = [_asked(tree, options) for tree in trees]
    rounds = getattr(options, "iterations", None) or 1
    timed = getattr(options, "watch", None) is not None
    entries = [
        ({"timestamp": int(time.time())} if timed else {}) | tree for _ in range(rounds) for tree in trees
    ]
    if options.json:
        lower = [_lower(entry) for entry in entries]
        return json.dumps({"gpu_data": lower} if settings.rocm() >= (7, 0) else lower, indent=4) + "\n"
    if options.csv or options.command == "monitor":
        return _csv(entries)
    return "".join(_text(entry) for entry in entries)


def _asked(tree: Tree, options: argparse.Namespace) -> Tree:
    """Only the branches asked for, where any is."""
    given = {name for name, value in vars(options).items() if value is True and name not in ("json", "csv")}
    names = {"POWER", "TEMPERATURE", "USAGE", "CLOCK", "MEM_USAGE", "ASIC", "BUS", "VRAM", "LIMIT"}
    wanted = {name.upper() for name in given} & names
    return {key: value for key, value in tree.items() if not wanted or key == "GPU" or key in wanted}


def _list(number: int) -> Tree:
    return {
        "GPU": number,
        "BDF": f"0000:{0xC3 + number:02x}:00.0",
        "UUID": f"{number:02x}ff{settings.gpu().device_id[2:]}-0000-1000-8000-000000000000",
        "KFD_ID": 6490 + number,
        "NODE_ID": settings.FIRST_NODE + number,
        "PARTITION_ID": 0,
    }


def _static(number: int) -> Tree:
    gpu = settings.gpu()
    levels = {f"LEVEL {at}": {"VALUE": value, "UNIT": "MHz"} for at, value in enumerate((500, gpu.clock_mhz))}
    return {
        "GPU": number,
        "ASIC": {
            "MARKET_NAME": gpu.name,
            "VENDOR_ID": "0x1002",
            "VENDOR_NAME": "Advanced Micro Devices Inc. [AMD/ATI]",
            "DEVICE_ID": gpu.device_id,
            "NUM_COMPUTE_UNITS": gpu.compute_units,
            "TARGET_GRAPHICS_VERSION": gpu.gfx,
        },
        "BUS": {"BDF": f"0000:{0xC3 + number:02x}:00.0", "MAX_PCIE_WIDTH": 16 if gpu.senses_power else "N/A"},
        "LIMIT": {"MAX_POWER": _quantity(gpu.power_cap_w, "W")},
        "VRAM": {
            "TYPE": "HBM" if gpu.is_instinct else "GDDR6",
            "SIZE": {"VALUE": gpu.memory_mb, "UNIT": "MB"},
        },
        "CLOCK": {"SYS": {"CURRENT_LEVEL": 1, "FREQUENCY_LEVELS": levels}},
    }


def _metric(number: int) -> Tree:
    gpu = settings.gpu()
    used = 283 + number
    return {
        "GPU": number,
        "USAGE": _branch({"GFX_ACTIVITY": _quantity(0, "%"), "UMC_ACTIVITY": _quantity(0, "%")}),
        "POWER": {"SOCKET_POWER": _quantity(gpu.power_cap_w // 5, "W"), "GFX_VOLTAGE": "N/A"},
        "CLOCK": _branch({"GFX_0": {"CLK": _quantity(132, "MHz")}, "MEM_0": {"CLK": _quantity(900, "MHz")}}),
        "TEMPERATURE": {
            "EDGE": "N/A" if gpu.is_instinct else {"VALUE": 29, "UNIT": "°C"},
            "HOTSPOT": _quantity(41, "°C"),
            "MEM": _quantity(35, "°C"),
        },
        "MEM_USAGE": {
            "TOTAL_VRAM": {"VALUE": gpu.memory_mb, "UNIT": "MB"},
            "USED_VRAM": {"VALUE": used, "UNIT": "MB"},
            "FREE_VRAM": {"VALUE": gpu.memory_mb - used, "UNIT": "MB"},
        },
    }


def _quantity(value: int, unit: str) -> object:
    """N/A where the GPU has no such sensor."""
    return {"VALUE": value, "UNIT": unit} if settings.gpu().senses_power else "N/A"


def _branch(tree: Tree) -> object:
    return tree if settings.gpu().senses_power else "N/A"


_TREES = {"list": _list, "static": _static, "metric": _metric, "monitor": _metric}


def _is_quantity(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"VALUE", "UNIT"}


def _text(tree: Tree, indent: int = 0) -> str:
    lines = []
    for key, value in tree.items():
        start = f"{' ' * indent}{key}:"
        if key.startswith("LEVEL") or (isinstance(value, dict) and not _is_quantity(value)):
            lines.append(f"{start}\n{_text(value, indent + 4)}")
        elif _is_quantity(value):
            lines.append(f"{start} {value['VALUE']} {value['UNIT']}\n")
        else:
            lines.append(f"{start} {value}\n")
        if key == "GPU":
            indent = 4
    return "".join(lines) + ("\n" if "GPU" in tree else "")


def _lower(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key).lower(): _lower(inner) for key, inner in value.items()}
    return value


def _csv(entries: list[Tree]) -> str:
    """One column a leaf, named by the leaf alone, as amd-smi does; a name that comes twice gets its branch."""
    rows = [dict(_leaves(entry)) for entry in entries]
    lines = [",".join(rows[0])] if rows else []
    return "\n".join([*lines, *(",".join(str(value) for value in row.values()) for row in rows)]) + "\n"


def _leaves(tree: Tree, branch: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in tree.items():
        name = key.lower().replace(" ", "_")
        if _is_quantity(value):
            found.append((f"{branch}_{name}" if name == "clk" else name, value["VALUE"]))
        elif isinstance(value, dict):
            found += _leaves(value, name)
        else:
            found.append((name, value))
    return found
