"""Recordings that are legal and unkind: deep nests, very many names, one enormous name, everything at once. Each is a
torch.profiler trace of n events of its kind (counters: a rocprofv3 file), written to the path it is given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

Events = Iterator[dict[str, object]]
Writer = Callable[[Path, int], Path]

_US = 10  # microseconds from one event to the next


def _span(category: str, name: str, start: float, length: float, **args: object) -> dict[str, object]:
    thread = args.pop("tid", 1)
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 1,
        "tid": thread,
        "ts": start,
        "dur": length,
        "args": args,
    }


def _launch(number: int, at: float, tid: int = 1, length: float = 2) -> dict[str, object]:
    return _span("cuda_runtime", "hipLaunchKernel", at, length, tid=tid, correlation=number + 1)


def _kernel(
    number: int, at: float, length: float = 5, *, name: str = "kernel", device: int = 0, stream: int = 0
) -> dict[str, object]:
    return _span(
        "kernel", name, at, length, tid=stream, correlation=number + 1, device=device, stream=stream
    ) | {"pid": device}


def nested_ranges(count: int) -> Events:
    """Each range lies in the one before and launches a kernel."""
    whole = _US * count
    for number in range(count):
        at = _US * number
        yield _span("user_annotation", f"range {number}", at, 2 * whole - 2 * at)
        yield _launch(number, at + 1)
        yield _kernel(number, at + 4)


def nested_operators(count: int) -> Events:
    """Each operator lies in the one before and launches a kernel when the ones inside it have ended."""
    whole = _US * count
    for number in range(count):
        start, end = _US * number, 2 * whole - _US * number
        yield _span("cpu_op", "aten::add", start, end - start, **{"External id": number + 1})
        yield _launch(number, end - 4)
        yield _kernel(number, end - 1)


def flat_operators(count: int) -> Events:
    """Operators one after the other, none in another."""
    for number in range(count):
        yield _span("cpu_op", "aten::add", _US * number, _US - 1, **{"External id": number + 1})


def distinct_names(count: int) -> Events:
    """No two kernels have the same name."""
    for number in range(count):
        yield _launch(number, _US * number)
        yield _kernel(number, _US * number + 3, name=f"void ns::kernel_{number}<float, {number}>(int*, int)")


def long_name(count: int) -> Events:
    """One kernel, whose name has this many characters: template arguments in template arguments."""
    part = "ns::functor<float, int>, "
    yield _launch(0, 0)
    yield _kernel(0, 3, name=f"void ns::elementwise_kernel<{part * (count // len(part))}int>(int*)")


def long_mangled_name(count: int) -> Events:
    """The same, mangled and without an end, so that no demangler can read it."""
    yield _launch(0, 0)
    yield _kernel(0, 3, name="_ZN" + "9aaaaaaaaa" * (count // 10))


def one_thread_each(count: int) -> Events:
    """Every range, operator and launch on a thread of its own."""
    for number in range(count):
        yield _span("user_annotation", "step", _US * number, 9, tid=number)
        yield _span("cpu_op", "aten::add", _US * number, 8, tid=number, **{"External id": number + 1})
        yield _launch(number, _US * number + 1, tid=number)
        yield _kernel(number, _US * number + 4)


def one_stream_each(count: int) -> Events:
    """Every kernel on a stream of its own."""
    for number in range(count):
        yield _launch(number, _US * number)
        yield _kernel(number, _US * number + 3, stream=number)


def one_gpu_each(count: int) -> Events:
    """Every kernel on a GPU of its own."""
    for number in range(count):
        yield _launch(number, _US * number)
        yield _kernel(number, _US * number + 3, device=number)


def all_at_once(count: int) -> Events:
    """Kernels of several ranges, each of which runs until the last has begun."""
    for number in range(count):
        at = _US * number
        yield _span("user_annotation", f"range {number % 10}", at, _US - 1)
        yield _launch(number, at + 1)
        yield _kernel(number, at + 3, length=_US * count, stream=number % 4)


def no_length(count: int) -> Events:
    """Operators, calls and kernels that end as they begin, many of them at one instant."""
    for number in range(count):
        at = _US * (number // 100)
        yield _span("cpu_op", "aten::add", at, 0, **{"External id": number + 1})
        yield _launch(number, at, length=0)
        yield _kernel(number, at, length=0)


def open_calls(count: int) -> Events:
    """Calls that have all begun before the first of them ends."""
    for number in range(count):
        yield _launch(number, _US * number, length=_US * count)
        yield _kernel(number, _US * number + 3)


def synchronised(count: int) -> Events:
    """The host waits after each kernel, on a thread and with a stream out of many."""
    for number in range(count):
        at, lane = 3 * _US * number, number % 1000
        yield _launch(number, at, tid=lane)
        yield _kernel(number, at + 3, stream=lane)
        yield _span("cuda_runtime", "hipStreamSynchronize", at + 4, 8, tid=lane, correlation=-number - 1)


_EVENTS: dict[str, Callable[[int], Events]] = {
    "ranges nested in one another": nested_ranges,
    "operators nested in one another": nested_operators,
    "operators of depth 1": flat_operators,
    "distinct kernel names": distinct_names,
    "characters in one kernel name": long_name,
    "characters in one mangled name": long_mangled_name,
    "threads, one for each event": one_thread_each,
    "streams, one for each kernel": one_stream_each,
    "GPUs, one for each kernel": one_gpu_each,
    "kernels at the same time": all_at_once,
    "events without length": no_length,
    "calls open at once": open_calls,
    "waits on a thousand threads and streams": synchronised,
}

_COUNTER_COLUMNS = (
    "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,"
    "LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
)


def _torch_trace(events: Callable[[int], Events]) -> Writer:
    def write(path: Path, count: int) -> Path:
        file = path.with_suffix(".json")
        with file.open("w") as out:
            out.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
            for number, event in enumerate(events(count)):
                out.write((",\n" if number else "") + json.dumps(event))
            out.write("\n]}\n")
        return file

    return write


def _counters(path: Path, count: int) -> Path:
    """One dispatch of which this many counters were read."""
    folder = path.with_suffix("")
    folder.mkdir(exist_ok=True)
    rows = (f'1,1,0,1,7,7,64,1,"kernel",64,0,0,8,8,"C{number}",{number},100,200' for number in range(count))
    file = folder / "7_counter_collection.csv"
    file.write_text("\n".join([_COUNTER_COLUMNS, *rows]) + "\n")
    return file


WRITERS: dict[str, Writer] = {
    **{name: _torch_trace(events) for name, events in _EVENTS.items()},
    "counters of one dispatch": _counters,
}
