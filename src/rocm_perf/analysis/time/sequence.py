"""Steps from the sequence of launches alone: what is launched over and over, in the same order.

A launch weighs as much as the kernels in it, and their time: a replay of a graph with 300 kernels is not one launch
among many. Where small launches in between hide the period, that of the heavy ones is looked for. What repeats is a
step only if it is not a layer of a single pass.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.intervals import total_union_ns
from rocm_perf.analysis.basis.keys import numbers, ordered, telling
from rocm_perf.analysis.time.kernel_family import families

FEWEST_STEPS = 3
INSIDE_SHARE = 0.5  # of the kernels, or of their time: what holds less of them is not a step
_ALONE_SHARE = 0.8  # of them: one kernel over and over is a loop only if there is little else
_LEAST_TIME = 0.1  # of the kernels' time: many kernels that take less are not what the program does
_UNLIKE = 0.1  # of the launches of a step may be missing or added
_MOST_STEPS = 0.8  # of what recurs most often
_LEFT_OVER = 0.2  # of a step, at the end of the recording
_CANDIDATES = 32
_REPEATS = 0.8  # of the launches are those of one period later
_AS_GOOD = 0.01
_FEWEST_AT_END = 10  # steps: a few alike at the end of a program may be how it ends
_FEWEST_HEAVY = 10  # steps of heavy launches alone: a few alike may be chance
_HEAVY = (
    0.95,
    0.8,
    0.5,
)  # of the weight: of the heaviest launches that hold it, whatever is launched between them
_IDLE = 0.1  # of the time that the GPU works: less of it, and it has not begun to
_BUSIER = 3
_ONCE_EACH = 0.8  # of the steps have what makes them steps
_SELDOM = 0.1  # of the steps: a kernel that runs in fewer is none of theirs
_MOST_LAYERS = (
    300  # of two passes: the deepest models of 2026 have about 130, and three passes repeat themselves
)
_LAST = 2  # medians behind the last whole block: one for that of which the end is not known, and one for what follows
_LAYERED = 0.5  # of the launches of a step recur within it: it has layers

_STREAM = ["node", "pid", "agent_id", "queue_id", "stream_id"]

# What is done once in a step of training, or once for each token; not resampling of images.
_STEP_KERNEL = r"(?i)argmax|multinomial|sampling|sample|nll_loss|cross_?entropy|mse_loss|bce_loss|ctc_loss"
_RESAMPLING = r"(?i)upsampl|downsampl|resampl|grid_?sampl|sample_?rate"
# Copies and fills that a runtime makes with kernels: no program is about them where it has other kernels.
_OF_RUNTIME = r"rocclr_(copy|fill)Buffer"


class Host(NamedTuple):
    """What the host does beside launching, which tells steps from layers."""

    waits: pl.Series  # when it begins to wait for the GPU
    passes: pl.DataFrame  # start_ns and end_ns of calls of outermost modules


NO_HOST = Host(pl.Series(dtype=pl.Int64), pl.DataFrame(schema={"start_ns": pl.Int64, "end_ns": pl.Int64}))


class Repeats(NamedTuple):
    """The blocks that repeat: start_ns, end_ns, kernels and their time (length), with what they are."""

    blocks: pl.DataFrame | None  # None where nothing repeats that is a step
    layered: bool = False  # something repeats, but within one pass
    kernel: str | None = None  # the one that each block is a launch of


def repeated_blocks(work: pl.DataFrame, host: Host = NO_HOST) -> Repeats:
    """Return the steps of launched work.

    A step begins where a launch recurs that is made once a step; what comes before the first is warm-up. The kernels of
    one graph launch are one launch, so that the layers inside a graph are not steps.
    """
    launched = _in_launch_order(work)
    if not launched.height:
        return Repeats(None)
    head = _is_head(launched)
    return _steps_among(launched, _launches(launched, head), head, host)


def heavy_blocks(work: pl.DataFrame, host: Host) -> pl.DataFrame | None:
    """Return the steps that the heaviest launches show where small ones between them hide the period: replays of a
    graph, or what holds something that happens once a step."""
    launched = _in_launch_order(work)
    if not launched.height:
        return None
    launches = _launches(launched, _is_head(launched))
    for share in _HEAVY:
        heavy = launches.filter(_is_heavy(launches, share))
        if heavy.height == launches.height:
            continue
        head = pl.int_range(launched.height, eager=True).is_in(heavy["row"].implode())
        blocks = _steps_among(launched, heavy, head, host, among_others=True).blocks
        if blocks is not None:
            return blocks
    return None


def final_blocks(work: pl.DataFrame, host: Host = NO_HOST) -> pl.DataFrame | None:
    """The steps that a program ends with, where most launches are made before it gets to its work: as long as code is
    compiled and variants of kernels are tried, the GPU idles. None where it does not begin to work only there."""
    launched = _in_launch_order(work)
    rows = launched.height // 2
    while rows >= _FEWEST_AT_END:
        blocks = repeated_blocks(launched.tail(rows), host).blocks
        if blocks is not None and blocks.height >= _FEWEST_AT_END:
            return blocks if _begins_to_work(launched, blocks) else None
        rows //= 2
    return None


def period(names: pl.Series) -> int | None:
    """The length of the sequence that nearly all of these names, in their order, belong to; None if none repeats."""
    numbers = _numbers(names)
    return next(iter(_periods(numbers, _distances(numbers), None)), None)


def is_of_runtime(names: pl.Series) -> pl.Series:
    """Return whether each kernel is a copy or a fill that the runtime makes with a kernel."""
    of_runtime: pl.Series = names.cast(pl.String).str.contains(_OF_RUNTIME)
    return of_runtime


def _steps_among(
    launched: pl.DataFrame, launches: pl.DataFrame, head: pl.Series, host: Host, *, among_others: bool = False
) -> Repeats:
    """The steps that these launches show, whose first rows are `head`: the shortest blocks that are no layers. Between
    launches `among_others` there are some that are not looked at."""
    names = launches["number"]
    fewest = _FEWEST_HEAVY if among_others else FEWEST_STEPS
    in_graphs = float(launches.filter(pl.col("kernels") > 1)["weight"].sum())
    graphs = in_graphs >= INSIDE_SHARE * float(launches["weight"].sum())
    distances = _distances(names)
    layered = False
    for length in _periods(names, distances, launches["kernels"]):
        begins = launches["row"].gather(_begins(names, distances, length))
        places = pl.int_range(launched.height, eager=True).is_in(begins.implode()).cum_sum()
        rows = launched.with_columns(block=places, head=head)
        blocks = _timed(_blocks(rows))
        whole = blocks.filter((pl.col("block") < blocks.height) | (pl.col("launches") == length))
        usual = whole.filter((pl.col("launches") - length).abs() <= _UNLIKE * length)
        alone = length == 1 and float(usual["kernels"].median() or 0) <= 1  # type: ignore[arg-type]
        if whole.height < fewest or not _is_most(usual, launched, alone):
            continue
        if among_others and not graphs and not _happens_once_a_step(rows, whole, host):
            continue
        if alone:
            return _of_one_kernel(rows, whole)
        if not _are_layers(rows, whole, usual, host):
            turns = _over_streams(rows, whole, host)
            return Repeats(_table(whole if turns is None else turns))
        layered = True
    return Repeats(None, layered)


def _table(blocks: pl.DataFrame) -> pl.DataFrame:
    return blocks.select("start_ns", "end_ns", "kernels", "length")


def _over_streams(rows: pl.DataFrame, whole: pl.DataFrame, host: Host) -> pl.DataFrame | None:
    """The steps that give each of several streams, or GPUs, the same work so many times before the next has its turn;
    None where these blocks are no parts of such steps. Where each stream has one block at a time, that is a step."""
    streams = telling(_STREAM, rows)
    if not streams or _happens_once_a_step(rows, whole, host):
        return None
    inside = rows.filter(pl.col("block").is_in(whole["block"].implode()))
    each = inside.with_columns(stream=numbers(streams, inside)).group_by("block", maintain_order=True)
    blocks = each.agg(pl.col("stream").first(), alone=pl.col("stream").n_unique() == 1)
    turns = blocks["stream"].rle().struct.unnest()
    used, length = turns["value"].n_unique(), int(turns["len"].max() or 0)  # type: ignore[arg-type]
    in_turn = bool((turns["value"] == turns["value"].shift(used)).all())
    alike = bool((turns["len"][1:-1] == length).all())
    if used < 2 or length < 2 or not (blocks["alone"].all() and in_turn and alike):
        return None
    first = 0 if turns["len"][0] == length else int(turns["len"][0])
    steps = (blocks.height - first) // (used * length)
    if steps < FEWEST_STEPS:
        return None
    step = (pl.int_range(pl.len()) - first) // (used * length) + 1
    of_block = blocks.select("block", step=step).filter(pl.col("step").is_between(1, steps))
    placed = inside.join(of_block, on="block", how="inner", maintain_order="left")
    return _timed(_blocks(placed.with_columns(block="step")))


def _of_one_kernel(rows: pl.DataFrame, whole: pl.DataFrame) -> Repeats:
    """Launches of one kernel, with its name unless copies run between them. Copies and fills of the runtime are not
    what a program does that has other kernels."""
    inside = rows.filter(pl.col("block") > 0)
    kernels = inside.filter(pl.col("kind") == "kernel")["name"].value_counts(sort=True)["name"]
    others = rows.filter((pl.col("kind") == "kernel") & (pl.col("name") != kernels[0])).height
    if others and is_of_runtime(kernels.head(1)).item():
        return Repeats(None)
    copies = (inside["kind"] == "copy").sum() > _SELDOM * inside.height
    return Repeats(_table(whole), kernel=None if copies else str(kernels[0]))


def _is_most(usual: pl.DataFrame, launched: pl.DataFrame, alone: bool) -> bool:
    """Whether the blocks are what the program does: most of its kernels, or of their time."""
    kernels = launched.filter(pl.col("kind") == "kernel")
    every = max(kernels.height, 1)
    every_ns = max(int((kernels["end_ns"] - kernels["start_ns"]).sum()), 1)
    count, time = int(usual["kernels"].sum()) / every, int(usual["length"].sum()) / every_ns
    if alone:
        return count >= _ALONE_SHARE and time >= _LEAST_TIME
    return time >= INSIDE_SHARE or (count >= INSIDE_SHARE and time >= _LEAST_TIME)


def _are_layers(rows: pl.DataFrame, whole: pl.DataFrame, usual: pl.DataFrame, host: Host) -> bool:
    """Whether the blocks are layers of one pass: nothing in them happens once a step, they have no layers themselves,
    and either one call of a module holds them all, or what runs right behind them runs nowhere in them (a norm, a
    head). What runs before them tells nothing: it may be set-up."""
    inside = rows.filter(pl.col("block").is_in(whole["block"].implode()))
    many = whole.height > _MOST_LAYERS
    if many or _happens_once_a_step(inside, whole, host) or _has_layers(inside, usual):
        return False
    first, last = inside["launch_start"].min(), inside["launch_start"].max()
    if first is not None:
        around = host.passes.filter((pl.col("start_ns") <= first) & (pl.col("end_ns") >= last))
        if around.height:
            return True
    return _ends_with_others(rows, whole, inside)


def _happens_once_a_step(rows: pl.DataFrame, whole: pl.DataFrame, host: Host) -> bool:
    """Whether most blocks read something back, wait, update parameters, sample a token or compute a loss."""
    inside = rows.filter(pl.col("block").is_in(whole["block"].implode()))
    names = inside["name"].cast(pl.String)
    is_kernel = inside["kind"] == "kernel"
    telling = is_kernel & names.str.contains(_STEP_KERNEL) & ~names.str.contains(_RESAMPLING)
    marks = telling | (is_kernel & (families(inside["name"]) == "optimiser")) | (names == "copy D2H")
    enough = _ONCE_EACH * whole.height
    if inside.filter(marks)["block"].n_unique() >= enough:
        return True
    begun = inside.group_by("block").agg(pl.col("launch_start").min()).drop_nulls().sort("launch_start")
    if not begun.height or not host.waits.len():
        return False
    waits = host.waits.sort().to_frame("wait").filter(pl.col("wait") <= inside["launch_end"].max())
    of_block = waits.join_asof(begun, left_on="wait", right_on="launch_start").drop_nulls("block")
    return bool(of_block["block"].n_unique() >= _ONCE_EACH * (whole.height - 1))


def _has_layers(inside: pl.DataFrame, usual: pl.DataFrame) -> bool:
    """Whether a usual block repeats something within itself, several times over."""
    if not usual.height:
        return False
    one = inside.filter(pl.col("block") == usual["block"][usual.height // 2])
    names = _numbers(one["name"])
    longest = len(names) // FEWEST_STEPS
    return any(_repeats(names, distance, None) >= _LAYERED for distance in range(2, longest + 1))


def _ends_with_others(rows: pl.DataFrame, whole: pl.DataFrame, inside: pl.DataFrame) -> bool:
    """Whether kernels that few blocks have run right behind the last block."""
    length = int(whole.select((pl.col("end_ns") - pl.col("start_ns")).median()).item() or 0)
    blocks = inside.group_by("name").agg(pl.col("block").n_unique())
    own = blocks.filter(pl.col("block") >= _SELDOM * whole.height)["name"]
    other = rows.filter(~pl.col("name").is_in(own.implode()) & (pl.col("kind") == "kernel"))
    foreign = other.filter(~is_of_runtime(other["name"]))
    last = int(inside["end_ns"].max())  # type: ignore[arg-type]
    return bool(foreign["start_ns"].is_between(last, last + _LAST * length).any())


def _begins_to_work(work: pl.DataFrame, blocks: pl.DataFrame) -> bool:
    first, last = (int(blocks[at][place]) for at, place in (("start_ns", 0), ("end_ns", -1)))
    before, during = work.filter(pl.col("start_ns") < first), work.filter(pl.col("start_ns") >= first)
    if not before.height or last <= first:  # launched before, but run at the same time
        return False
    idle = total_union_ns(before) / (first - int(before["start_ns"].min()))  # type: ignore[arg-type]
    busy = total_union_ns(during) / (last - first)
    return idle < _IDLE and busy > _BUSIER * idle


def _numbers(names: pl.Series) -> pl.Series:
    """A number for each name: comparing texts would take longer."""
    codes = names if names.dtype.is_integer() else names.cast(pl.Categorical).to_physical()
    numbers: pl.Series = codes.cast(pl.Int64)
    return numbers


def _in_launch_order(work: pl.DataFrame) -> pl.DataFrame:
    """As the host launched it, which is the same in every step whatever the streams do with it; where launches are
    missing, as it ran."""
    missing = work["launch_start"].null_count()
    return ordered(work, ["start_ns"] if missing else ["launch_start", "start_ns"])


def _is_head(work: pl.DataFrame) -> pl.Series:
    """Whether a row is the first of its launch, or the only one; without a launch, each is one."""
    same_call = pl.col("launch_start") == pl.col("launch_start").shift(1)
    same_thread = pl.col("tid").eq_missing(pl.col("tid").shift(1))
    return work.select(~(same_call & same_thread).fill_null(False)).to_series()


def _launches(work: pl.DataFrame, head: pl.Series) -> pl.DataFrame:
    """One row for each launch: the row of its first work, a number that is the same for the same launch, how many
    kernels and copies it holds, and its weight: the mean of its shares of them and of their time.

    A graph is another launch than that of its first kernel alone.
    """
    rows = work.select(
        pl.int_range(pl.len()).alias("row"),
        head.cum_sum().alias("launch"),
        (pl.col("end_ns") - pl.col("start_ns")).alias("length"),
    ).with_columns(_numbers(work["name"]).alias("number"))
    each = rows.group_by("launch", maintain_order=True).agg(
        pl.col("row").first(),
        pl.col("number").first() * 2 + (pl.len() > 1).cast(pl.Int64),
        pl.len().cast(pl.Int64).alias("kernels"),
        pl.col("length").sum(),
    )
    kernels, length = max(int(each["kernels"].sum()), 1), max(int(each["length"].sum()), 1)
    weight = (pl.col("kernels") / kernels + pl.col("length") / length) / 2
    return each.select("row", "number", "kernels", weight=weight)


def _is_heavy(launches: pl.DataFrame, share: float) -> pl.Series:
    """Whether each launch is one of the heaviest, by what all of its like weigh, that hold this share together."""
    totals = (
        launches.group_by("number").agg(pl.col("weight").sum()).sort(["weight", "number"], descending=True)
    )
    before = totals["weight"].cum_sum() - totals["weight"]
    heavy: pl.Series = launches["number"].is_in(totals.filter(before < share)["number"].implode())
    return heavy


def _blocks(work: pl.DataFrame) -> pl.DataFrame:
    """One row for each block of launches."""
    is_kernel = pl.col("kind") == "kernel"
    return (
        work.filter(pl.col("block") > 0)
        .group_by("block", maintain_order=True)
        .agg(
            pl.col("start_ns").min(),
            pl.col("start_ns").max().alias("last_start"),
            pl.col("end_ns").max(),
            is_kernel.sum().cast(pl.Int64).alias("kernels"),
            (pl.col("end_ns") - pl.col("start_ns")).filter(is_kernel).sum().alias("length"),
            pl.col("head").sum().cast(pl.Int64).alias("launches"),
        )
    )


def _timed(blocks: pl.DataFrame) -> pl.DataFrame:
    """The blocks with when each lasts: until the next begins. Where a stream runs ahead of another, so that blocks mix,
    from the end of the work of those before it to that of its own."""
    following = pl.col("start_ns").shift(-1)
    if blocks.select((pl.col("last_start") < following).all()).item():
        return blocks.with_columns(end_ns=pl.coalesce(following, "end_ns"))
    ended = pl.col("end_ns").cum_max()
    return blocks.with_columns(start_ns=pl.coalesce(ended.shift(1), "start_ns"), end_ns=ended)


def _begins(names: pl.Series, distances: pl.DataFrame, period: int) -> pl.Series:
    """Where steps begin: at a launch made once in most steps, or as far before it as the first two steps are alike.
    Where little is left after the last whole step, as much of the start-up looks like the end of a step."""
    places = _once_a_step(names, distances.filter(pl.col("distance") == period))
    first, second = int(places[0]), int(places[1])
    before = range(1, min(first, period - 1) + 1)
    alike = next((back - 1 for back in before if names[first - back] != names[second - back]), len(before))
    left = (len(names) - int(places[-1]) + alike) % period
    begins: pl.Series = places - alike + (left if left <= _LEFT_OVER * period else 0)
    within: pl.Series = begins.filter(begins < len(names))
    return within


def _once_a_step(names: pl.Series, recurring: pl.DataFrame) -> pl.Series:
    """The places of the launch that recurs most regularly, among those that recur in most steps."""
    often = pl.col("count") * pl.col("regular")
    best = recurring.filter(often >= _MOST_STEPS * often.max()).sort(
        "regular", "first", "first_of_run", descending=[True, False, False]
    )
    return _places(names, name=best["name"][0], first_of_run=best["first_of_run"][0])


def _places(names: pl.Series, *, name: int, first_of_run: bool) -> pl.Series:
    """Where the name is launched; of several in a row, only the first if asked."""
    here = names == name
    chosen = here & _begins_run(names) if first_of_run else here
    places: pl.Series = chosen.arg_true().cast(pl.Int64)
    return places


def _begins_run(names: pl.Series) -> pl.Series:
    return names.ne_missing(names.shift(1))


def _distances(names: pl.Series) -> pl.DataFrame:
    """For each launch that recurs often enough, and for the first of several in a row: how far apart, how regularly,
    and where it is first seen."""
    each = pl.DataFrame({"name": names, "at": pl.int_range(len(names), eager=True)})
    runs = each.filter(_begins_run(names))
    table = pl.concat([_recurring(each, first_of_run=False), _recurring(runs, first_of_run=True)])
    return table.filter(
        (pl.col("count") >= FEWEST_STEPS) & (pl.col("distance") <= len(names) // FEWEST_STEPS)
    )


def _recurring(places: pl.DataFrame, *, first_of_run: bool) -> pl.DataFrame:
    step = pl.col("at").diff()
    return places.group_by("name").agg(
        step.median().cast(pl.Int64).alias("distance"),
        (step == step.median()).mean().alias("regular"),
        pl.col("at").first().alias("first"),
        pl.len().alias("count"),
        pl.lit(first_of_run).alias("first_of_run"),
    )


def _periods(names: pl.Series, distances: pl.DataFrame, weight: pl.Series | None) -> list[int]:
    """The distances at which nearly all launches recur, by number or by weight, tried among the distances of single
    ones: the shortest of the best, then the others that are longer.

    What is launched once a step recurs at the length of a step, so one such launch is enough.
    """
    common = (
        distances.group_by("distance").agg(pl.col("count").sum()).sort("count", "distance", descending=True)
    )
    tried = common["distance"].head(_CANDIDATES).to_list()
    since = _start_up(names)
    lasting, heavy = names[since:], None if weight is None else weight[since:]
    scores = {distance: _repeats(lasting, distance, heavy) for distance in tried}
    best = max(scores.values(), default=0.0)
    if best < _REPEATS:
        return []
    shortest = min(int(distance) for distance, score in scores.items() if score >= best - _AS_GOOD)
    good = (int(distance) for distance, score in scores.items() if score >= _REPEATS)
    return [shortest, *sorted(distance for distance in good if distance > shortest)]


def _start_up(names: pl.Series) -> int:
    """How many are launched until the last that is not launched in the second half as well."""
    first, second = names[: len(names) // 2], names[len(names) // 2 :]
    once = (~first.is_in(second.unique().implode())).arg_true()
    return int(once[-1]) + 1 if len(once) else 0


def _repeats(names: pl.Series, distance: int, weight: pl.Series | None) -> float:
    """Share of launches that recur one distance later: of their number, or of their weight where that is more."""
    recurs = names[distance:] == names[: len(names) - distance]
    share = float(recurs.mean() or 0.0)  # type: ignore[arg-type]
    if weight is None:
        return share
    heavy = weight[distance:]
    total = float(heavy.sum())
    return max(share, float(heavy.filter(recurs).sum()) / total) if total else share
