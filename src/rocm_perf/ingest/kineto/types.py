"""The events of a torch.profiler trace as typed records, and how pieces of the file become them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal

import msgspec

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
IntOrText = Int64 | str | None
Size3 = tuple[Int64, Int64, Int64]


class Args(msgspec.Struct, gc=False, frozen=True):
    """The arguments that carry meaning; others are skipped by the decoder."""

    correlation: Int64 | None = None
    op_id: IntOrText = msgspec.field(default=None, name="External id")
    device: Int64 | None = None
    stream: IntOrText = None
    grid: Size3 | None = None
    block: Size3 | None = None
    registers: Int64 | None = msgspec.field(default=None, name="registers per thread")
    shared_memory: Int64 | None = msgspec.field(default=None, name="shared memory")
    bytes: IntOrText = None
    graph_id: Int64 | None = msgspec.field(default=None, name="graph id")
    kernel: str | None = None
    shapes: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input Dims")
    dtypes: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input type")
    strides: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input Strides")
    inputs: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Concrete Inputs")
    kernel_file: str | None = None
    kernel_hash: str | None = None
    kernel_flop: float | None = None
    kernel_num_gb: float | None = None
    sequence: Int64 | None = msgspec.field(default=None, name="Sequence number")
    forward_thread: Int64 | None = msgspec.field(default=None, name="Fwd thread id")
    modules: str | None = msgspec.field(default=None, name="Module Hierarchy")
    occupancy: float | None = msgspec.field(default=None, name="est. achieved occupancy %")
    python_id: Int64 | None = msgspec.field(default=None, name="Python id")
    python_parent: Int64 | None = msgspec.field(default=None, name="Python parent id")
    collective: str | None = msgspec.field(default=None, name="Collective name")
    elements: Int64 | None = msgspec.field(default=None, name="In msg nelems")
    output_elements: Int64 | None = msgspec.field(default=None, name="Out msg nelems")
    input_splits: str | None = msgspec.field(default=None, name="In split size")
    source_rank: Int64 | None = msgspec.field(default=None, name="Src Rank")
    target_rank: Int64 | None = msgspec.field(default=None, name="Dst Rank")
    dtype: str | None = None
    group: str | None = msgspec.field(default=None, name="Process Group Name")
    group_size: Int64 | None = msgspec.field(default=None, name="Group size")
    delta_bytes: Int64 | None = msgspec.field(default=None, name="Bytes")
    address: Int64 | None = msgspec.field(default=None, name="Addr")
    device_id: Int64 | None = msgspec.field(default=None, name="Device Id")
    device_type: Int64 | None = msgspec.field(default=None, name="Device Type")
    allocated: Int64 | None = msgspec.field(default=None, name="Total Allocated")
    reserved: Int64 | None = msgspec.field(default=None, name="Total Reserved")
    number: IntOrText = msgspec.field(default=None, name="Ev Idx")
    wait_on_stream: Int64 | None = None
    name: str | None = None
    labels: str | None = None
    rank: Int64 | None = None


class Event(msgspec.Struct, gc=False):
    """One event. Times are microseconds."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: IntOrText = None
    tid: IntOrText = None
    ts: float | None = None
    dur: float | None = None
    id: IntOrText = None
    args: Args = Args()


class ExactEvent(Event, gc=False):
    """One event of a file whose times have more digits than a float holds."""

    ts: Decimal | None = None  # type: ignore[assignment]


class _Span(msgspec.Struct, gc=False, tag_field="cat"):
    """What every event of a known category has. Decoding by category skips the arguments that it does not have,
    which is half the work."""

    ph: Literal["", "X", "s", "f", "i"] = ""  # a str would be made anew for each event
    name: str = ""
    pid: IntOrText = None
    tid: IntOrText = None
    ts: float | None = None
    dur: float | None = None


class _Flow(msgspec.Struct, gc=False, tag_field="cat", tag="ac2g"):
    """From a launch to its kernel: one event in ten, with nothing that the correlation id does not say."""

    cat: ClassVar[str] = "ac2g"


class _NoArgs(msgspec.Struct, gc=False, frozen=True):
    pass


class _PythonArgs(msgspec.Struct, gc=False, frozen=True):
    python_id: Int64 | None = msgspec.field(default=None, name="Python id")
    python_parent: Int64 | None = msgspec.field(default=None, name="Python parent id")
    number: IntOrText = msgspec.field(default=None, name="Ev Idx")


class _AnnotationArgs(msgspec.Struct, gc=False, frozen=True):
    number: IntOrText = msgspec.field(default=None, name="Ev Idx")
    shapes: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input Dims")
    dtypes: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input type")


class _CallArgs(msgspec.Struct, gc=False, frozen=True):
    correlation: Int64 | None = None
    op_id: IntOrText = msgspec.field(default=None, name="External id")
    kernel: str | None = None
    grid: Size3 | None = None
    block: Size3 | None = None
    shared_memory: Int64 | None = msgspec.field(default=None, name="shared memory")


class _OperatorArgs(msgspec.Struct, gc=False, frozen=True):
    number: IntOrText = msgspec.field(default=None, name="Ev Idx")
    op_id: IntOrText = msgspec.field(default=None, name="External id")
    sequence: Int64 | None = msgspec.field(default=None, name="Sequence number")
    forward_thread: Int64 | None = msgspec.field(default=None, name="Fwd thread id")
    modules: str | None = msgspec.field(default=None, name="Module Hierarchy")
    shapes: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input Dims")
    dtypes: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input type")
    strides: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input Strides")
    inputs: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Concrete Inputs")
    kernel_file: str | None = None
    kernel_hash: str | None = None
    kernel_flop: float | None = None
    kernel_num_gb: float | None = None


_ARGS: dict[str, type[msgspec.Struct]] = {
    "python_function": _PythonArgs,
    "cuda_runtime": _CallArgs,
    "cuda_driver": _CallArgs,
    "cpu_op": _OperatorArgs,
    "user_annotation": _AnnotationArgs,
    "fwdbwd": _NoArgs,
    "kernel": Args,
    "gpu_memcpy": Args,
    "gpu_memset": Args,
    "gpu_user_annotation": Args,
    "cpu_instant_event": Args,
    "cuda_sync": Args,
    "overhead": _NoArgs,
}


def _event_of(category: str, args: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The event of one category. `cat` is its tag, and a class attribute, so that it reads like that of any Event."""
    fields = [("id", IntOrText, None), ("args", args, args())]
    return msgspec.defstruct(
        f"_{category}", fields, bases=(_Span,), tag=category, gc=False, namespace={"cat": category}
    )


_KNOWN = reduce(or_, (_Flow, *(_event_of(category, args) for category, args in _ARGS.items())))

# A float holds microseconds with three decimals exactly up to here (its spacing is then 2**-10 us).
MAX_FLOAT_US = float(1 << 43)


def piece_decoder(exact: bool) -> tuple[Callable[[bytes], list[Event]], list[int]]:
    """A decoder of pieces of the event list, and a one-element list that counts unusable events.

    Three attempts: by category, which is fastest and knows only the usual ones; any event of the usual form; and
    event by event, for files that deviate.
    """
    kind = ExactEvent if exact else Event
    by_category = msgspec.json.Decoder(list[_KNOWN])  # type: ignore[valid-type]
    usual = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
    skipped = [0]

    def decode(data: bytes) -> list[Event]:
        if not exact:
            try:
                return by_category.decode(data)
            except msgspec.ValidationError:
                pass
        try:
            return usual.decode(data)
        except msgspec.ValidationError:
            return _tolerant(msgspec.json.decode(data), kind, skipped)

    return decode, skipped


def _tolerant(raw: Any, kind: type[Event], skipped: list[int]) -> list[Event]:
    """The events, decoded one by one: arguments of an unexpected type are dropped before the event is."""
    events = []
    for record in raw if isinstance(raw, list) else ():
        event = _convert(record, kind) or _convert(_without_args(record), kind)
        if event is None:
            skipped[0] += 1
        else:
            events.append(event)
    return events


def _convert(record: Any, kind: type[Event]) -> Event | None:
    try:
        return msgspec.json.decode(msgspec.json.encode(record), type=kind, strict=False)
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return None


def _without_args(record: Any) -> Any:
    if not isinstance(record, dict):
        return record
    return {key: value for key, value in record.items() if key != "args" and value is not None}
