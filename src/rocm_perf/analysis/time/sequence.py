"""Steps from the sequence of launches alone: what is launched over and over, in the same order."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import total_union_ns
from rocm_perf.analysis.basis.keys import ordered

FEWEST_STEPS = 3
INSIDE_SHARE = 0.5  # of the kernels: what holds fewer of them is not a step
_ALONE_SHARE = 0.8  # of them: one kernel over and over is a loop only if there is little else
_UNLIKE = 0.1  # of the launches of a step may be missing or added
_MOST_STEPS = 0.8  # of what recurs most often
_LEFT_OVER = 0.2  # of a step, at the end of the recording
_CANDIDATES = 32
_REPEATS = 0.8  # of the launches are those of one period later
_AS_GOOD = 0.01
_FEWEST_AT_END = 10  # steps: a few alike at the end of a program may be how it ends
_IDLE = 0.1  # of the time that the GPU works: less of it, and it has not begun to
_BUSIER = 3


def repeated_blocks(work: pl.DataFrame) -> pl.DataFrame | None:
    """The steps of launched work: start_ns, end_ns, kernels and their time (length); None where nothing repeats.

    A step begins where a launch recurs that is made once a step; what comes before the first is warm-up. The kernels of
    one graph launch are one launch, so that the layers inside a graph are not steps.
    """
    launched = _in_launch_order(work)
    rows = pl.int_range(launched.height, eager=True)
    head = _is_head(launched)
    names = _numbers(launched["name"].filter(head))
    distances = _distances(names)
    length = _period(names, distances)
    if length is None:
        return None
    begins = rows.filter(head).gather(_begins(names, distances, length))
    blocks = _blocks(launched.with_columns(block=rows.is_in(begins.implode()).cum_sum(), head=head))
    whole = _timed(blocks).filter(
        (pl.col("block") < blocks.height)
        | (pl.col("launches") == length)  # the recording may end within a step
    )
    usual = whole.filter((pl.col("launches") - length).abs() <= _UNLIKE * length)
    inside = INSIDE_SHARE if length > 1 else _ALONE_SHARE
    if whole.height < FEWEST_STEPS or usual["kernels"].sum() < inside * _kernels(launched):
        return None
    return whole.select("start_ns", "end_ns", "kernels", "length")


def final_blocks(work: pl.DataFrame) -> pl.DataFrame | None:
    """The steps that a program ends with, where most launches are made before it gets to its work: as long as code is
    compiled and variants of kernels are tried, the GPU idles. None where it does not begin to work only there."""
    launched = _in_launch_order(work)
    rows = launched.height // 2
    while rows >= _FEWEST_AT_END:
        blocks = repeated_blocks(launched.tail(rows))
        if blocks is not None and blocks.height >= _FEWEST_AT_END:
            return blocks if _begins_to_work(launched, blocks) else None
        rows //= 2
    return None


def _begins_to_work(work: pl.DataFrame, blocks: pl.DataFrame) -> bool:
    first, last = (int(blocks[at][place]) for at, place in (("start_ns", 0), ("end_ns", -1)))
    before, during = work.filter(pl.col("start_ns") < first), work.filter(pl.col("start_ns") >= first)
    if not before.height or last <= first:  # launched before, but run at the same time
        return False
    idle = total_union_ns(before) / (first - int(before["start_ns"].min()))  # type: ignore[arg-type]
    busy = total_union_ns(during) / (last - first)
    return idle < _IDLE and busy > _BUSIER * idle


def period(names: pl.Series) -> int | None:
    """The length of the sequence that nearly all of these names, in their order, belong to; None if none repeats."""
    numbers = _numbers(names)
    return _period(numbers, _distances(numbers))


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


def _kernels(work: pl.DataFrame) -> int:
    return int((work["kind"] == "kernel").sum())


def _is_head(work: pl.DataFrame) -> pl.Series:
    """Whether a row is the first of its launch, or the only one; without a launch, each is one."""
    same_call = pl.col("launch_start") == pl.col("launch_start").shift(1)
    same_thread = pl.col("tid").eq_missing(pl.col("tid").shift(1))
    return work.select(~(same_call & same_thread).fill_null(False)).to_series()


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


def _period(names: pl.Series, distances: pl.DataFrame) -> int | None:
    """The shortest distance at which nearly all launches recur, tried among the distances of single ones.

    What is launched once a step recurs at the length of a step, so one such launch is enough.
    """
    common = (
        distances.group_by("distance").agg(pl.col("count").sum()).sort("count", "distance", descending=True)
    )
    tried = common["distance"].head(_CANDIDATES).to_list()
    lasting = names[_start_up(names) :]
    scores = {distance: _repeats(lasting, distance) for distance in tried}
    best = max(scores.values(), default=0.0)
    if best < _REPEATS:
        return None
    return min(int(distance) for distance, score in scores.items() if score >= best - _AS_GOOD)


def _start_up(names: pl.Series) -> int:
    """How many are launched until the last that is not launched in the second half as well."""
    first, second = names[: len(names) // 2], names[len(names) // 2 :]
    once = (~first.is_in(second.unique().implode())).arg_true()
    return int(once[-1]) + 1 if len(once) else 0


def _repeats(names: pl.Series, distance: int) -> float:
    """Share of launches that recur one distance later."""
    return float((names[distance:] == names[: len(names) - distance]).mean() or 0.0)  # type: ignore[arg-type]
