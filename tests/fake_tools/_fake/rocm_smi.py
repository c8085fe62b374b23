"""rocm-smi: its concise table, and the facts it prints as JSON or CSV."""

from __future__ import annotations

import argparse
import json
import sys

from . import settings

_WIDTH = 116
_FACTS = {
    "showpower": {"Current Socket Graphics Package Power (W)": "{power}"},
    "showtemp": {"Temperature (Sensor junction) (C)": "41.0", "Temperature (Sensor memory) (C)": "35.0"},
    "showuse": {"GPU use (%)": "0"},
    "showmeminfo": {"VRAM Total Memory (B)": "{total}", "VRAM Total Used Memory (B)": "{used}"},
    "showproductname": {"Card Series": "{name}", "GFX Version": "{gfx}"},
    "showclocks": {"sclk clock speed:": "(131Mhz)", "mclk clock speed:": "(900Mhz)"},
}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="rocm-smi", description="AMD ROCm System Management Interface")
    made.add_argument("-a", "--showallinfo", action="store_true")
    made.add_argument("-P", "--showpower", action="store_true")
    made.add_argument("-t", "--showtemp", action="store_true")
    made.add_argument("-u", "--showuse", action="store_true")
    made.add_argument("-c", "--showclocks", action="store_true")
    made.add_argument("--showproductname", action="store_true")
    made.add_argument("--showmeminfo", nargs="+")
    made.add_argument("-d", "--device", nargs="+", type=int)
    made.add_argument("-V", "--version", action="store_true")
    made.add_argument("--json", action="store_true")
    made.add_argument("--csv", action="store_true")
    return made


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    if settings.fault()[0] == "permission":
        print("ERROR: Unable to initialize rsmi: permission denied on /dev/kfd", file=sys.stderr)
        return 1
    if options.version:
        print(f"ROCM-SMI version: 3.0.0\nROCM-SMI-LIB version: {settings.rocm_text()}.0")
        return 0
    cards = _cards(options)
    if options.json and any(cards.values()):
        print(json.dumps(cards))
    elif options.csv and any(cards.values()):
        print("\n".join([",".join(["device", *next(iter(cards.values()))]), *_rows(cards)]) + "\n")
    elif any(cards.values()):
        _print_facts(cards)
    else:
        _print_table(options.device)
    return 0


def _devices(chosen: list[int] | None) -> list[int]:
    return [number for number in range(settings.gpu_count()) if chosen is None or number in chosen]


def _cards(options: argparse.Namespace) -> dict[str, dict[str, str]]:
    gpu = settings.gpu()
    words = {
        "power": f"{gpu.power_cap_w / 5:.1f}" if gpu.senses_power else "N/A",
        "total": str(gpu.memory_mb << 20),
        "used": str(283 << 20),
        "name": gpu.name,
        "gfx": gpu.gfx,
    }
    asked = [fact for name, fact in _FACTS.items() if getattr(options, name) or options.showallinfo]
    facts = {key: text.format(**words) for fact in asked for key, text in fact.items()}
    return {f"card{number}": facts for number in _devices(options.device)}


def _rows(cards: dict[str, dict[str, str]]) -> list[str]:
    return [",".join([card, *facts.values()]) for card, facts in cards.items()]


def _print_facts(cards: dict[str, dict[str, str]]) -> None:
    print(" ROCm System Management Interface ".center(_WIDTH, "="))
    for number, facts in enumerate(cards.values()):
        for key, value in facts.items():
            print(f"GPU[{number}]\t\t: {key}: {value}")
    print(" End of ROCm SMI Log ".center(_WIDTH, "="))


def _print_table(chosen: list[int] | None) -> None:
    gpu = settings.gpu()
    power = f"{gpu.power_cap_w / 5:.1f}W" if gpu.senses_power else "N/A"
    cap = f"{gpu.power_cap_w:.1f}W" if gpu.senses_power else "N/A"
    row = "{:8}{:22}{:12}{:10}{:16}{:8}{:8}{:5}{:6}{:8}{:>5}  {:6}"
    names = ("Device", "[Model : Revision]", "Temp", "Power", "Partitions")
    more = ("SCLK", "MCLK", "Fan", "Perf", "PwrCap", "VRAM%", "GPU%")
    print(" ROCm System Management Interface ".center(_WIDTH, "="))
    print(" Concise Info ".center(_WIDTH, "="))
    print(row.format(*names, *more))
    print(row.format("", "Name (20 chars)", "(Junction)", "(Socket)", "(Mem, Compute)", *[""] * 7))
    print("=" * _WIDTH)
    for number in _devices(chosen):
        model = f"[{gpu.device_id} : 0x00]"
        clocks = ("131Mhz", "900Mhz", "0%", "auto")
        print(row.format(str(number), model, "41.0°C", power, "NPS1, SPX", *clocks, cap, "0%", "0%"))
        print(row.format("", gpu.name[:20], *[""] * 10))
    print("=" * _WIDTH)
    print(" End of ROCm SMI Log ".center(_WIDTH, "="))
