"""Which spans of a host thread are calls of modules. torch.profiler records nn.Modules as Python frames; compiled
graphs, ranges that are named like modules, and modules that TorchScript notes become spans of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

import polars as pl

from rocm_perf.analysis.basis.torchscript_modules import torchscript_modules
from rocm_perf.model.trace import Trace

PREFIX = "nn.Module: "
GRAPH = "CompiledFxGraph"
REGION = "Torch-Compiled Region"

_GRAPH_CALL = re.compile(rf"^## Call ({GRAPH} \w{{8}})\w* ##$")
_PATTERNS = (
    _GRAPH_CALL,
    # What the layer-wise markers of vLLM, SGLang and TensorRT-LLM push: {'Module': 'model.layers.0.mlp', ...}
    re.compile(r"""^\{['"]Module['"]: ['"]([^'"]+)['"]"""),
    # model.layers.0 and layers.0.mlp; a single word with a number may count anything: step.3
    re.compile(r"^([A-Za-z_]\w*(?:\.\w+)*\.[A-Za-z_]\w*\.\d+(?:\.\w+)*)$"),
    re.compile(r"^([A-Za-z_]\w*\.\d+\.[A-Za-z_]\w*(?:\.\w+)*)$"),
    re.compile(r"^([A-Za-z_]\w*)\.forward$"),  # DistributedDataParallel.forward
    re.compile(rf"^{PREFIX}(.+)$"),
)
_LONGEST = 500  # characters of a name that are looked at
_NUMBER = re.compile(r" \(\w+\)$|_\d+$")
_SPAN = ["node", "pass_id", "rank", "pid", "tid", "name", "start_ns", "end_ns"]


def is_module(spans: pl.DataFrame) -> pl.Series:
    """Whether each of the nested spans is a call of a module or of a compiled graph."""
    name, category = pl.col("name"), pl.col("category")
    recorded = (category == "python") & name.cat.starts_with(PREFIX)
    region = (category == "operator") & name.cat.starts_with(REGION)
    return spans.select(((category == "module") | recorded | region).alias("is_module")).to_series()


def is_nn_module(spans: pl.DataFrame) -> pl.Series:
    """Whether each of the nested spans is a call of a module; compiled graphs, which also run backwards, are not."""
    names = spans["name"]
    return is_module(spans) & ~(names.cat.starts_with(GRAPH) | names.cat.starts_with(REGION))


def bare_names(names: pl.Series) -> pl.Series:
    """The names of spans, those of modules without torch's prefix; distinct ones are looked at once."""
    distinct = names.unique().cast(pl.String)
    prefixed = distinct.filter(distinct.str.starts_with(PREFIX))
    bare: pl.Series = names.replace(prefixed, prefixed.str.strip_prefix(PREFIX))
    return bare


def class_name(name: str) -> str:
    """What modules that differ in their number alone have in common: `Linear` of `Linear_0`, `layers` of
    `model.layers.0`, `Block` of `Block (0)`."""
    for graph in (GRAPH, REGION):
        if name.startswith(graph):
            return graph
    plain = _NUMBER.sub("", name)
    parts = [part for part in plain.split(".") if not part.isdigit()]
    return parts[-1] if parts else plain


def added_spans(trace: Trace, pass_id: int) -> pl.DataFrame:
    """Calls of modules that are not recorded as Python frames. Ranges and TorchScript's notes count only where no such
    frame was recorded, lest a module be counted twice; compiled graphs always count."""
    ranges = trace.lazy("ranges").filter(
        (pl.col("pass_id") == pass_id) & ~pl.col("on_gpu") & (pl.col("source") != "profiler")
    )
    named = ranges.select(_SPAN).collect()
    if _has_module_frames(trace):
        return _renamed(named, (_GRAPH_CALL,))
    noted = torchscript_modules(trace, pass_id)
    return pl.concat([_renamed(named, (_GRAPH_CALL,) if noted.height else _PATTERNS), noted.select(_SPAN)])


def _has_module_frames(trace: Trace) -> bool:
    frames = trace.lazy("ops").filter(pl.col("category") == "python")
    return bool(frames.select(pl.col("name").str.starts_with(PREFIX).any()).collect().item())


def _renamed(ranges: pl.DataFrame, patterns: tuple[re.Pattern[str], ...]) -> pl.DataFrame:
    """The ranges whose name is that of a module by one of the patterns, or the beginning of its path, under that
    name."""
    names = ranges["name"].unique().to_list()
    modules = {name: module for name in names if (module := _module(name, patterns))}
    around = {path for module in modules.values() for path in _beginnings(module)}
    modules |= {name: name for name in names if name in around}
    renamed = pl.col("name").replace_strict(modules, default=None, return_dtype=pl.String)
    return ranges.with_columns(renamed).drop_nulls("name")


def _module(name: str, patterns: tuple[re.Pattern[str], ...]) -> str | None:
    matches = (pattern.match(name[:_LONGEST]) for pattern in patterns)
    return next((match.group(1) for match in matches if match), None)


def _beginnings(path: str) -> Iterator[str]:
    """The paths of what is around a module: `model` and `model.layers` of `model.layers.0`."""
    return accumulate(path.split(".")[:-1], lambda around, name: f"{around}.{name}")
