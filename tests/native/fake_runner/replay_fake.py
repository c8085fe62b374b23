"""A stand-in for the native runners: follows a PLAN on a toy memory. See README.md.

The toy language, a statement a line, run for a grid of work-items:
  kernel NAME              what it defines
  add BASE COUNT VALUE     work-item i adds VALUE to the i-th f32 at BASE, if i < COUNT
  stride BASE COUNT VALUE  the same for all COUNT, however many work-items there are
  set BASE COUNT VALUE     work-item i writes VALUE to the i-th f32 at BASE, if i < COUNT
  clamp BASE COUNT VALUE   work-item i lowers the i-th f32 at BASE to VALUE, if it is larger
  noise BASE COUNT SCALE   multiplies each f32 by 1 + a random share of SCALE, another one each time
  wobble ADDRESS PATTERN   flips the last bit of the f32 at ADDRESS if PATTERN has a 1, by how often it ran before
  below COUNT hang|fail    does so if there are fewer work-items
  chase POINTER VALUE      adds VALUE to the f32 at the address that lies at POINTER
  count NAME               adds 1 to the u32 variable NAME
  put ADDRESS BYTE         writes one byte
  hang | crash | fail      does not end; dies by SIGSEGV; is a device error
  time NANOSECONDS         how long it takes
  knows ADDRESS VALUE NANOSECONDS  how long it takes where the f32 at ADDRESS is VALUE

Tests start it about a thousand times, so it imports nothing that takes longer than its work: no json, signal or typing.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GFX = "sm_90"
FAULT = os.environ.get("FAKE_RUNNER", "")
MEMORY_LIMIT = 64 << 20


class StopError(Exception):
    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


# How many values stand before the file's name.
FILES = {
    "load": 3,
    "restore": 3,
    "swap": 3,
    "code": 1,
    "global": 2,
    "kernarg": 2,
    "dump": 2,
    "dump_global": 2,
}


class Plan:
    """The lines of a PLAN by their word."""

    MANY = ("reserve", "load", "restore", "swap", "code", "sizes", "global", "poison", "dump", "dump_global")
    ONE = ("version", "mode", "device", "isa", "kernel", "kernarg", "grid", "workgroup", "dynamic_lds", "group_segment",
           "private_segment", "cooperative", "cluster", "parameters", "warmup", "iterations", "recopy", "cold_cache",
           "launch")  # fmt: skip

    def __init__(self, path: str) -> None:
        self.many: dict[str, list[list[str]]] = {word: [] for word in self.MANY}
        self.one: dict[str, list[str]] = {}
        with open(path) as file:
            for line in file:
                self._take(line.rstrip("\n"))
        if self.one.get("version") != ["1"]:
            raise StopError(10, "another version")

    def _take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        values = rest.split(" ", FILES[word]) if word in FILES else rest.split()
        if word in self.MANY:
            self.many[word].append(values)
        elif word in self.ONE:
            self.one[word] = values
        else:
            raise StopError(10, f"unknown line: {line}")

    def number(self, word: str, otherwise: int = 0) -> int:
        return int(self.one[word][0], 0) if word in self.one else otherwise

    def three(self, word: str) -> list[int]:
        return [int(value) for value in self.one[word]]


class Memory:
    """Ranges at their addresses; what is never touched takes no memory."""

    def __init__(self) -> None:
        self.ranges: dict[int, mmap.mmap] = {}

    def map(self, base: int, size: int) -> None:
        self.ranges[base] = mmap.mmap(-1, size)

    def view(self, address: int, size: int) -> memoryview:
        for base, data in self.ranges.items():
            if base <= address and address + size <= base + len(data):
                return memoryview(data)[address - base : address - base + size]
        raise StopError(14, f"illegal address 0x{address:x}")


class Runner:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.memory = Memory()
        self.variables: dict[str, bytearray] = {}
        self.answer: dict[str, Any] = {
            "state": "failed", "error": "", "device": {"name": "stand-in", "gfx": GFX, "driver": "none"},
            "reservations": [], "variables": [], "samples_ns": {}, "order": [], "wall_ns": 0, "restored_bytes": 0,
            "clocks_mhz": [], "cache_bytes": 50 << 20,
        }  # fmt: skip

    def run(self) -> None:
        if FAULT == "no-device":
            raise StopError(11, "there is no device")
        isa = self.plan.one.get("isa", [GFX])[0]
        if isa != GFX:
            raise StopError(12, f"the snapshot is of {isa}, this GPU is {GFX}")
        self.reserve()
        if self.plan.one["mode"] == ["run"]:
            self.load()
            self.iterate()
            self.dump()
        self.answer["state"] = "done"

    def reserve(self) -> None:
        total = 0
        for number, (base, size) in enumerate(self.plan.many["reserve"]):
            start, length = int(base, 0), int(size, 0)
            if start % (2 << 20) or length % (2 << 20):
                raise StopError(10, "a reservation is not made of granules")
            total += length
            first = number == 0
            got = None if first and FAULT == "refuse" else start + (4 << 20) * (first and FAULT == "relocate")
            text = None if got is None else hex(got)
            self.answer["reservations"].append(
                {"base": base, "size": length, "got": text, "exact": got == start}
            )
            self.memory.map(start, length)
        if FAULT == "refuse":
            raise StopError(1, "a range is taken")
        if FAULT == "relocate":
            raise StopError(2, "another address was given")
        if total > MEMORY_LIMIT or FAULT == "out-of-memory":
            raise StopError(15, f"{total} bytes are needed")

    def load(self) -> None:
        for address, size, offset, file in self.plan.many["load"]:
            self.memory.view(int(address, 0), int(size))[:] = read(file, int(offset), int(size))
        for name, size, file in self.plan.many["global"]:
            self.variables[name] = bytearray(read(file, 0, int(size)))
            self.answer["variables"].append({"name": name, "address": "0x1000"})
        address, size, file = self.plan.one["kernarg"]
        if address != "-":
            self.memory.view(int(address, 0), int(size))
        read(file, 0, int(size))
        self.answer["restored_bytes"] = sum(int(size) for _, size, _, _ in self.plan.many["restore"])

    def iterate(self) -> None:
        codes = {label: program(file, self.plan.one["kernel"][0]) for label, file in self.plan.many["code"]}
        labels = list(codes)
        self.put_back()
        warmup, iterations = self.plan.number("warmup"), self.plan.number("iterations")
        for turn in range(warmup + iterations):
            turned = labels[turn // 2 % len(labels) :] + labels[: turn // 2 % len(labels)]
            for place, label in enumerate(turned if turn % 2 == 0 else reversed(turned), 1):
                if self.plan.number("recopy", 1):
                    self.put_back()
                if (turn, place) == (warmup + iterations - 1, len(labels)):
                    self.swap()
                if not self.plan.number("launch", 1) and FAULT == "fail-unlaunched":
                    raise StopError(14, "the device failed")
                taken = (
                    self.execute(codes[label], self.items_of(label))
                    if self.plan.number("launch", 1) or FAULT == "always-launch"
                    else 0
                )
                if label == "again" and FAULT == "again-slower":
                    taken += taken // 20
                if turn >= warmup:
                    self.answer["samples_ns"].setdefault(label, []).append(taken + turn * 7 % 5)
                    self.answer["order"].append(label)
        self.answer["wall_ns"] = 1_000_000
        self.answer["clocks_mhz"] = [1700.0, 1710.0, 1690.0]

    def put_back(self) -> None:
        for address, size, offset, file in self.plan.many["restore"]:
            self.memory.view(int(address, 0), int(size))[:] = read(file, int(offset), int(size))
        for name, size, file in self.plan.many["global"]:
            self.variables[name][:] = read(file, 0, int(size))
        for address, size, byte in self.plan.many["poison"]:
            self.memory.view(int(address, 0), int(size))[:] = bytes([int(byte)]) * int(size)

    def swap(self) -> None:
        for address, size, offset, file in self.plan.many["swap"]:
            self.memory.view(int(address, 0), int(size))[:] = read(file, int(offset), int(size))

    def items_of(self, label: str) -> int:
        own = {name: int(first) for name, first, *_ in self.plan.many["sizes"]}
        return own.get(label, self.plan.three("grid")[0])

    def execute(self, statements: list[list[str]], items: int) -> int:
        taken = 1000
        for word, *values in statements:
            if word == "time":
                taken = int(values[0])
            elif word == "knows":
                (found,) = struct.unpack("<f", self.memory.view(int(values[0], 0), 4))
                taken = int(values[2]) if found == float(values[1]) else taken
            elif word in ("add", "set", "clamp", "stride", "noise"):
                base, count, value = int(values[0], 0), int(values[1]), float(values[2])
                self.over_floats(
                    word, base, count if word in ("stride", "noise") else min(count, items), value
                )
            elif word == "chase":
                (pointer,) = struct.unpack("<Q", self.memory.view(int(values[0], 0), 8))
                self.over_floats("add", pointer, 1, float(values[1]))
            elif word == "count":
                variable = self.variables[values[0]]
                variable[:4] = struct.pack("<I", struct.unpack("<I", variable[:4])[0] + 1)
            elif word == "wobble":
                self.memory.view(int(values[0], 0), 1)[0] ^= turn_of(values[1])
            elif word == "below":
                if items < int(values[0]):
                    ill(values[1])
            elif word == "put":
                self.memory.view(int(values[0], 0), 1)[0] = int(values[1], 0)
            else:
                ill(word)
        return taken

    def over_floats(self, word: str, base: int, count: int, value: float) -> None:
        view = self.memory.view(base, 4 * count)
        floats = struct.unpack(f"<{count}f", view)
        if word == "noise":
            random = [byte / 255 for byte in os.urandom(count)]
            floats = tuple(one * (1 + share * value) for one, share in zip(floats, random, strict=True))
        elif word in ("set", "clamp"):
            floats = tuple(value if word == "set" else min(one, value) for one in floats)
        else:
            floats = tuple(one + value for one in floats)
        view[:] = struct.pack(f"<{count}f", *floats)

    def dump(self) -> None:
        for address, size, file in self.plan.many["dump"]:
            with open(file, "wb") as out:
                out.write(self.memory.view(int(address, 0), int(size)))
        for name, _, file in self.plan.many["dump_global"]:
            with open(file, "wb") as out:
                out.write(self.variables[name])


def turn_of(pattern: str) -> int:
    """The next digit of the pattern, the last one for ever. Runs are counted in a file beside the runner."""
    with open(f"{sys.argv[0]}.{pattern}", "a+") as runs:
        runs.write(".")
        runs.seek(0)
        place = len(runs.read()) - 1
    return int(pattern[min(place, len(pattern) - 1)])


def ill(word: str) -> None:
    if word == "hang":
        time.sleep(600)
    if word == "crash":
        os.kill(os.getpid(), 11)  # SIGSEGV
    raise StopError(14, "the kernel failed")


def program(path: str, kernel: str) -> list[list[str]]:
    with open(path) as file:
        statements = [line.split() for line in file if line.strip() and not line.startswith((".", "#"))]
    if ["kernel", kernel] not in statements:
        raise StopError(13, f"{path} has no kernel {kernel}")
    return [statement for statement in statements if statement[0] != "kernel"]


def read(path: str, offset: int, size: int) -> bytes:
    if FAULT == "unreadable":
        raise StopError(16, f"cannot read {path}")
    with open(path, "rb") as file:
        file.seek(offset)
        data = file.read(size)
    if len(data) != size:
        raise StopError(16, f"{path} is too short")
    return data


def as_json(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_json(key)}: {as_json(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_json, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "null" if value is None else str(value).lower()


def main() -> int:
    if FAULT == "hang":
        time.sleep(600)
    if FAULT == "silent":
        return 0
    code = 0
    runner = None
    try:
        runner = Runner(Plan(sys.argv[1]))
        runner.run()
    except StopError as stop:
        code = stop.code
        answer = runner.answer if runner else {"state": "failed"}
        print(as_json({**answer, "state": "relocated" if code == 2 else "failed", "error": str(stop)}))
        return code
    print(as_json(runner.answer))
    return code


if __name__ == "__main__":
    sys.exit(main())
