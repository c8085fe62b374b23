"""rocprofv3-avail: counters and PC sampling of the GPUs."""

from __future__ import annotations

import argparse
import sys

from . import counters, faults, settings

_CONSTANTS = ("simd_count", "max_waves_per_simd", "num_xcc", "wave_front_size", "gfx_target_version")
_NO_LIMIT = (1 << 64) - 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="rocprofv3-avail", usage="%(prog)s [options] ")
    made.add_argument("-d", "--device", type=int)
    commands = made.add_subparsers(dest="command")
    listing = commands.add_parser("list")
    for name in ("--pmc", "--agent", "--pc-sampling"):
        listing.add_argument(name, nargs="?", const="true", metavar="BOOL")
    info = commands.add_parser("info")
    for name in ("--pmc", "--pc-sampling"):
        info.add_argument(name, nargs="*")
    check = commands.add_parser("pmc-check")
    check.add_argument("pmc", nargs="*")
    return made


def main(arguments: list[str]) -> int:
    if settings.rocm() < (7, 0):
        print(f"rocprofv3-avail: ROCm {settings.rocm_text()} has no such tool", file=sys.stderr)
        return 127
    if settings.fault()[0] == "permission":
        print(faults.NO_KFD, file=sys.stderr)
        return 1
    options = parser().parse_args(arguments)
    if settings.fault()[0] == "aqlprofile" and options.command:
        faults.refuse_counters()
    if options.command == "pmc-check":
        return _check(options.pmc)
    if options.command == "list":
        _list(
            sampling=bool(options.pc_sampling),
            pmc=bool(options.pmc) or not (options.pc_sampling or options.agent),
        )
    elif options.command == "info":
        _info(options)
    sys.stdout.flush()
    return 0


def _devices() -> range:
    return range(settings.gpu_count())


def _list(*, sampling: bool, pmc: bool) -> None:
    gpu = settings.gpu()
    if sampling:
        print("Agents supporting PC Sampling\n")
        for device in _devices():
            print(f"{'GPU':8}:\t{device}\n{'Name':8}:\t{gpu.gfx}\n\n")
    if pmc:
        names = sorted(counters.known(gpu.gfx, settings.rocm()))
        for device in _devices():
            print(f"{'GPU':30}:\t{device}\n{'Name':30}:\t{gpu.gfx}")
            print(f"{'PMC':30}:\n")
            print(
                "\n".join(
                    " ".join(f"{name:40}" for name in names[at : at + 3]) for at in range(0, len(names), 3)
                )
            )
            print("\n")


def _info(options: argparse.Namespace) -> None:
    for device in _devices():
        if options.device is not None and device != options.device:
            continue
        if options.pc_sampling is not None:
            _print_sampling(device)
        if options.pmc is not None or options.pc_sampling is None:
            _print_counters(device, options.pmc or [])


def _print_sampling(device: int) -> None:
    gpu = settings.gpu()
    ways = [("host_trap", "time", 512 if gpu.gfx == "gfx1100" else 1, _NO_LIMIT, "none")]
    if gpu.gfx == "gfx942":
        ways.append(("stochastic", "cycles", 256, 1 << 31, "interval pow2"))
    print(f"{'GPU':8}:\t{device}\n{'Name':8}:\t{gpu.gfx}\n{'configs':8}:")
    for way in ways:
        for name, value in zip(("Method", "Unit", "Min_Interval", "Max_Interval", "Flags"), way, strict=True):
            print(f"   {name:20}:\t{value}")
        print("\n")
    print("\n")


def _print_counters(device: int, only: list[str]) -> None:
    gpu, rocm = settings.gpu(), settings.rocm()
    print(f"GPU:{device}\nName:{gpu.gfx}")
    entries: list[tuple[str, tuple[tuple[str, str], ...]]] = [
        (name, (("Description", f"Constant value {name} from agent properties"),)) for name in _CONSTANTS
    ]
    entries += [
        (name, (("Description", f"{name} of the hardware"), ("Block", counters.block(name)), _DIMENSIONS))
        for name in counters.hardware(gpu.gfx, rocm)
    ]
    entries += [
        (name, (("Description", f"{name}, computed"), ("Expression", formula), _DIMENSIONS))
        for name, formula in counters.derived(gpu.gfx, rocm).items()
    ]
    for name, facts in entries:
        if not only or name in only:
            print(
                "\n".join(f"{key:20}:\t{value}" for key, value in (("Counter_Name", name), *facts)),
                end="\n\n\n",
            )


_DIMENSIONS = ("Dimensions", "DIMENSION_INSTANCE[0:0]")


def _check(names: list[str]) -> int:
    gpu, rocm = settings.gpu().gfx, settings.rocm()
    if not names:
        print("Fatal error: Provide counter to check", file=sys.stderr)
        return 1
    bare = [name.partition(":")[0] for name in names]
    if not set(bare) <= counters.known(gpu, rocm):
        print("Fatal error: Invalid counter name", file=sys.stderr)
        return 1
    if counters.over_capacity(bare, gpu, rocm):
        print(f"GPU:0 : {', '.join(bare)} cannot be collected together", file=sys.stderr)
        return 1
    print(f"GPU:0\n{', '.join(bare)} can be collected together")
    return 0
