"""Makes a torch.profiler trace of about N events by repeating a recorded one in time, with ids made unique.

Every value is copied as it was written. A tile is shifted by a whole number of microseconds, so the
nanosecond digits of a timestamp are never computed on; only its integer part is.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import BinaryIO

import msgspec

Fields = dict[str, msgspec.Raw]

SPECIMENS = Path(
    os.environ.get("ROCM_PERF_SPECIMENS", Path(__file__).resolve().parents[2] / "shared" / "data")
)
SPECIMEN = SPECIMENS / "torch_trace" / "AMD-AGI_TraceLens__mi300_resnet_act_checkpoint.json.gz"

# Ids of one family share a stride, so what was linked stays linked: an ac2g flow id is a correlation id.
_LINK, _RECORD, _EVENT, _PYTHON, _MODULE, _SEQUENCE, _STEP, _TIME = range(8)
_ARGS = {
    "correlation": _LINK,
    "External id": _LINK,
    "external id": _LINK,
    "Record function id": _RECORD,
    "Ev Idx": _EVENT,
    "Python id": _PYTHON,
    "Python parent id": _PYTHON,
    "Python module id": _MODULE,
    "Sequence number": _SEQUENCE,
}
_ZERO_IS_NONE = frozenset({_LINK, _RECORD})
_UNKNOWN = 1 << 62  # ids this large mean "none": all bits are set
_FLOWS = (b'"s"', b'"t"', b'"f"')
_STEP_NAME = re.compile(rb'"ProfilerStep#(\d+)"')
_TIMESTAMP = re.compile(rb"\d+(\.\d+)?")


@dataclass(frozen=True)
class Recording:
    """A trace cut into its parts, every value still the text that was recorded."""

    header: Fields  # the top-level fields, in their order, `traceEvents` among them
    tiled: list[Fields]
    once: list[Fields]  # metadata and the marks that frame the recording


@dataclass(frozen=True)
class Template:
    """Text with one `%d` for each number that changes from tile to tile, and those numbers."""

    text: str
    slots: list[tuple[int, int]]  # first value, stride family

    def tile(self, number: int, strides: dict[int, int]) -> str:
        """The text of one tile."""
        shifts = {family: number * stride for family, stride in strides.items()}
        return self.text % tuple(value + shifts[family] for value, family in self.slots)


def parse(data: bytes) -> Recording:
    """The events of a trace, cut out of its JSON text."""
    header = msgspec.json.decode(data, type=Fields)
    events = msgspec.json.decode(header["traceEvents"], type=list[Fields])
    once = [event for event in events if _is_once(event)]
    return Recording(header, [event for event in events if not _is_once(event)], once)


def read(path: Path) -> Recording:
    """A trace, read from a gzip or plain file."""
    data = path.read_bytes()
    return parse(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)


def text_of(recording: Recording, events: int) -> Iterator[str]:
    """The text of a trace of about that many events, one tile at a time."""
    tiles = max(1, round((events - len(recording.once)) / max(1, len(recording.tiled))))
    template = _template(recording.tiled)
    strides = _strides(recording, template)
    before, after = _header(recording.header)
    yield before
    for number in range(tiles):
        yield (",\n" if number else "") + template.tile(number, strides)
    if recording.once:
        yield ",\n" + _template(recording.once).tile(tiles - 1, strides)
    yield after


def write(recording: Recording, out: Path, events: int) -> None:
    """Write the trace, packed if its name ends in .gz: the same bytes for the same arguments, and under its name only
    once it is complete."""
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(out.name + ".part")
    with unfinished.open("wb") as raw, _packed(raw) if out.suffix == ".gz" else nullcontext(raw) as file:
        for text in text_of(recording, events):
            file.write(text.encode())
    unfinished.replace(out)


def _packed(raw: BinaryIO) -> gzip.GzipFile:
    return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)


def _is_once(event: Fields) -> bool:
    return bytes(event.get("ph", b"")) == b'"M"' or _is_frame(event)


def _is_frame(event: Fields) -> bool:
    """Whether the event is the span of the whole recording, or the mark at one of its ends."""
    start = bytes(event.get("name", b"")).startswith(b'"Iteration Start: ')
    return start or bytes(event.get("cat", b"")) == b'"Trace"' or _is_end(event)


def _is_end(event: Fields) -> bool:
    return bytes(event.get("name", b"")) == b'"Record Window End"'


def _strides(recording: Recording, template: Template) -> dict[int, int]:
    highest = dict.fromkeys(range(_TIME), 0)
    for value, family in template.slots:
        if family != _TIME:
            highest[family] = max(highest[family], value + 1)
    steps = {value for value, family in template.slots if family == _STEP}
    if steps:
        highest[_STEP] = max(steps) - min(steps) + 1
    return {**highest, _TIME: _span_us(recording.tiled)}


def _span_us(events: Iterable[Fields]) -> int:
    """From the first start to the last end, in whole microseconds, rounded up."""
    starts, ends = [], []
    for event in events:
        if "ts" in event:
            start = Decimal(_text(event["ts"]))
            starts.append(start)
            ends.append(start + Decimal(_text(event["dur"])) if "dur" in event else start)
    return int((max(ends) - min(starts)).to_integral_value(ROUND_CEILING)) if starts else 0


def _template(events: Iterable[Fields]) -> Template:
    slots: list[tuple[int, int]] = []
    return Template(",\n".join(_event(event, slots) for event in events), slots)


def _event(event: Fields, slots: list[tuple[int, int]]) -> str:
    """One event as Kineto lays it out, with its changing numbers moved into the slots."""
    flow = bytes(event.get("ph", b"")) in _FLOWS
    fields = "".join(_separator(key, flow) + _key(key) + _value(key, event, slots) for key in event)
    return "  {\n    " + fields.lstrip(", \n") + "\n  }"


def _separator(key: str, flow: bool) -> str:
    return ",\n    " if key in ("args", "cat" if flow else "ts") else ", "


def _value(key: str, event: Fields, slots: list[tuple[int, int]]) -> str:
    raw = bytes(event[key])
    if key == "args" and raw.startswith(b"{"):
        return _args(msgspec.json.decode(raw, type=Fields), slots)
    if (key == "ts" and (not _is_once(event) or _is_end(event))) or (key == "dur" and _is_frame(event)):
        return _time(raw, slots)
    if key == "id" and bytes(event.get("ph", b"")) in _FLOWS:
        return _id(raw, _LINK, slots)
    if key == "name" and (step := _STEP_NAME.fullmatch(raw)):
        return f'"ProfilerStep#{_id(step[1], _STEP, slots)}"'
    return _plain(raw.decode())


def _args(args: Fields, slots: list[tuple[int, int]]) -> str:
    texts = []
    for key, raw in args.items():
        family = _ARGS.get(key)
        value = _plain(_text(raw)) if family is None else _id(bytes(raw), family, slots)
        texts.append(_key(key) + value)
    return "{\n      " + ", ".join(texts) + "\n    }"


def _time(raw: bytes, slots: list[tuple[int, int]]) -> str:
    """A slot for the integer part of a time; the digits after the point are kept as they are."""
    if not _TIMESTAMP.fullmatch(raw):
        raise ValueError(f"the timestamp {raw.decode()!r} is not a plain positive number")
    whole, point, digits = raw.decode().partition(".")
    slots.append((int(whole), _TIME))
    return "%d" + point + digits


def _id(raw: bytes, family: int, slots: list[tuple[int, int]]) -> str:
    """A slot for an id; null, and the marks for "none", stay what they are."""
    none = not raw.isdigit() or int(raw) >= _UNKNOWN or (int(raw) == 0 and family in _ZERO_IS_NONE)
    if none:
        return _plain(raw.decode())
    slots.append((int(raw), family))
    return "%d"


def _header(header: Fields) -> tuple[str, str]:
    before: list[str] = []
    after: list[str] = []
    side = before
    for key, raw in header.items():
        if key == "traceEvents":
            side = after
        else:
            side.append(f"  {msgspec.json.encode(key).decode()}: {_text(raw)}")
    opening = "".join(line + ",\n" for line in before)
    closing = "".join(",\n" + line for line in after)
    return "{\n" + opening + '  "traceEvents": [\n', "\n  ]" + closing + "\n}\n"


def _text(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


def _key(key: str) -> str:
    return _plain(msgspec.json.encode(key).decode()) + ": "


def _plain(text: str) -> str:
    return text.replace("%", "%%")


def synthetic(events_per_step: int = 20_000) -> Recording:
    """Made-up events in Kineto's shape, for machines without the recorded specimens: one profiler step, as
    long as in real training, because the time of some readers grows with events times steps."""
    seed = parse("".join(text_of(parse(_SEED), events_per_step)).encode())
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 7, "tid": 7}
    fields = {key: msgspec.Raw(msgspec.json.encode(value)) for key, value in step.items()}
    fields |= {"ts": seed.tiled[0]["ts"], "dur": msgspec.Raw(str(_span_us(seed.tiled)).encode())}
    return Recording(seed.header, [Fields(fields), *seed.tiled], seed.once)


_SEED = rb"""{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "warpSize": 64, "numSms": 304}],
  "roctracer_version": 4.1,
  "traceEvents": [
  {"ph": "X", "cat": "python_function", "name": "model.py(12): forward", "pid": 7, "tid": 7,
   "ts": 3743411222488.120, "dur": 90.334, "args": {"Python parent id": null, "Python id": 1, "Ev Idx": 0}},
  {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 7, "tid": 7,
   "ts": 3743411222490.002, "dur": 41.011,
   "args": {"Python parent id": 1, "Python id": 2, "Python module id": 0, "Ev Idx": 1}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "ts": 3743411222491.440,
   "dur": 38.090, "args": {"External id": 2, "Record function id": 0, "Sequence number": 1, "Ev Idx": 2,
    "Input type": ["float", "float"], "Input Dims": [[64, 256], [256, 256]]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "hipExtModuleLaunchKernel", "pid": 7, "tid": 7,
   "ts": 3743411222501.481, "dur": 6.619, "args": {"External id": 2, "cid": 95, "correlation": 11,
    "kernel": "Cijk_Ailk_Bljk_SB_MT64x64x16", "grid": [4, 4, 1], "block": [256, 1, 1], "shared memory": 0}},
  {"ph": "s", "id": 11, "pid": 7, "tid": 7, "ts": 3743411222501.481, "cat": "ac2g", "name": "ac2g"},
  {"ph": "f", "id": 11, "pid": 2, "tid": 0, "ts": 3743411222513.040, "cat": "ac2g",
   "name": "ac2g", "bp": "e"},
  {"ph": "X", "cat": "kernel", "name": "Cijk_Ailk_Bljk_SB_MT64x64x16", "pid": 2, "tid": 0,
   "ts": 3743411222513.040, "dur": 21.520, "args": {"External id": 2, "device": 2, "stream": 0,
    "correlation": 11, "kind": "Dispatch Kernel", "grid": [4, 4, 1], "block": [256, 1, 1]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 7, "tid": 7, "ts": 3743411222536.208,
   "dur": 27.310, "args": {"External id": 3, "Record function id": 0, "Sequence number": 2, "Ev Idx": 3,
    "Input type": ["float"], "Input Dims": [[64, 256]]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 7, "tid": 7,
   "ts": 3743411222541.900, "dur": 5.020, "args": {"External id": 3, "cid": 107, "correlation": 12,
    "kernel": "void clamp<4, float>(int, float*)", "grid": [64, 1, 1], "block": [256, 1, 1]}},
  {"ph": "s", "id": 12, "pid": 7, "tid": 7, "ts": 3743411222541.900, "cat": "ac2g", "name": "ac2g"},
  {"ph": "f", "id": 12, "pid": 2, "tid": 0, "ts": 3743411222549.277, "cat": "ac2g",
   "name": "ac2g", "bp": "e"},
  {"ph": "X", "cat": "kernel", "name": "void clamp<4, float>(int, float*)", "pid": 2, "tid": 0,
   "ts": 3743411222549.277, "dur": 3.679, "args": {"External id": 3, "device": 2, "stream": 0,
    "correlation": 12, "kind": "Dispatch Kernel", "grid": [64, 1, 1], "block": [256, 1, 1]}},
  {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 3743411222487.063,
   "args": {"name": "python3"}},
  {"ph": "M", "name": "process_labels", "pid": 2, "tid": 0, "ts": 3743411222487.063,
   "args": {"labels": "GPU 2"}},
  {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
   "ts": 3743411222487.063, "dur": 97.001, "args": {"Op count": 0}},
  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 3743411222584.064}
  ],
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1767189312000000000
}"""


def main() -> int:
    """Write the trace that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "source",
        nargs="?",
        type=Path,
        help=f"a trace (default: {SPECIMEN.name} if it is there, else made-up events)",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, help="the .json.gz to write")
    parser.add_argument("--events", type=int, default=1_000_000, help="about how many (default %(default)s)")
    options = parser.parse_args()
    source = options.source or (SPECIMEN if SPECIMEN.is_file() else None)
    write(read(source) if source else synthetic(), options.out, options.events)
    print(f"{options.out}, from {source or 'made-up events'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
