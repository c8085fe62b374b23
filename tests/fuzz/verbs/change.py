"""Changes to an input as a whole: contents, containers, and what lies in a folder. `mutate` changes one content."""

from __future__ import annotations

import gzip
import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random

import polars as pl
import zstandard

from tests.fuzz.containers import zipped
from tests.fuzz.hostile import ESCAPES, HOSTILE, other_number
from tests.fuzz.mutate import mutate, mutate_settings
from tests.fuzz.verbs.inputs import Input, Kind

Files = dict[str, bytes]
MANIFEST = "manifest.json"
_SETTINGS: tuple[Kind, ...] = ("workload", "counters", "context", "gpus")
_PARQUET = b"PAR1"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # in a zip, so that the same random numbers give the same bytes


def changed(start: Input, others: Sequence[Input], random: Random) -> Input:
    """The input after a few changes; `others` of its kind lend their files."""
    files = dict(start.files)
    if start.kind == "recording" and "" in files:
        files = _file_or_folder(files[""], others, random)
    elif start.kind in _SETTINGS:
        name = random.choice(sorted(files))
        files[name] = mutate_settings(files[name], random)
    elif "" in files:
        files[""] = content(files[""], random)
    else:
        for _ in range(random.choice((1, 1, 2, 3))):
            _change_folder(files, others, random)
        if random.random() < 0.8:
            _correct_checksums(files)
    return replace(start, files=files)


def content(data: bytes, random: Random) -> bytes:
    """One file with a few changes that its format allows."""
    if data.startswith(_PARQUET) and random.random() < 0.8:
        return change_parquet(data, random)
    return mutate(data, random)


def _file_or_folder(data: bytes, others: Sequence[Input], random: Random) -> Files:
    """Mostly the changed file; else packed, or beside other recordings in a folder."""
    data = content(data, random)
    way = random.random()
    if way < 0.8:
        return {"": data}
    if way < 0.9:
        return {"": packed(data, others, random)}
    beside = [_some_file(others, random) for _ in range(random.choice((1, 2)))]
    return {"a_kernel_trace.csv": data, **{_name(random): each for each in beside}}


def packed(data: bytes, others: Sequence[Input], random: Random) -> bytes:
    """In a gzip, zstd or zip container, which may be cut off, follow itself, or hold two members of one name."""
    way = random.choice(
        (
            _gzipped,
            zstandard.compress,
            lambda each: _zipped(each, others, random),
            lambda each: zipped(each, random),
        )
    )
    whole = way(data)
    return random.choice((whole, whole, whole, whole[: random.randrange(len(whole))], whole * 2, way(whole)))


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def _zipped(data: bytes, others: Sequence[Input], random: Random) -> bytes:
    names = [
        "trace.json",
        *random.choices(("trace.json", "../up", "/top", _name(random)), k=random.choice((0, 1, 2))),
    ]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name are what is wanted
        for number, name in enumerate(names):
            member = _some_file(others, random) if number else data
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), member)
    return file.getvalue()


def _change_folder(files: Files, others: Sequence[Input], random: Random) -> None:
    """A file changed, cut, swapped with another, doubled, renamed, gone, or one from elsewhere."""
    if not files:
        return
    name, other = random.choice(sorted(files)), random.choice(sorted(files))
    ways: tuple[Callable[[], object], ...] = (
        lambda: files.update({name: content(files[name], random)}),
        lambda: files.update({name: files[name][: random.randrange(len(files[name]) + 1)]}),
        lambda: files.update({name: files[other], other: files[name]}),
        lambda: files.update({f"copy_of_{name}".replace("/", "_"): files[name]}),
        lambda: files.update({_name(random): files.pop(name)}),
        lambda: files.pop(name),
        lambda: files.update({_name(random): _some_file(others, random)}),
        lambda: files.update({name: packed(files[name], others, random)}),
    )
    random.choices(ways, weights=(12, 1, 2, 1, 1, 1, 1, 1))[0]()


def _correct_checksums(files: Files) -> None:
    """As a forger would: a bundle whose files are not those of its manifest is refused before they are read."""
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        manifest = json.loads(files[MANIFEST])
        for entry in manifest["tables"].values():
            entry["crc32"] = zlib.crc32(files[entry["file"]])
        files[MANIFEST] = json.dumps(manifest).encode()


def _some_file(others: Sequence[Input], random: Random) -> bytes:
    files = random.choice(others).files
    return files[random.choice(sorted(files))] if files else b""


def _name(random: Random) -> str:
    """A name that tools write, or one that they do not."""
    usual = (
        "7_results.json",
        "pass_2/out_counter_collection.csv",
        "host/8_kernel_trace.csv",
        "manifest.json",
    )
    odd = [
        text.replace("/", "_").replace("\0", "_")[:80] for text in (*ESCAPES, *HOSTILE) if text.strip("./\0")
    ]
    return random.choice((*usual, f"{random.choice(odd)}.csv"))


def change_parquet(data: bytes, random: Random) -> bytes:
    """A table with another value, type, column or row."""
    with suppress(pl.exceptions.PolarsError, OverflowError):
        frame = pl.read_parquet(data)
        if not frame.width:
            return data
        file = io.BytesIO()
        _other_frame(frame, random.choice(frame.columns), random).write_parquet(
            file, compression="uncompressed"
        )
        return file.getvalue()
    return mutate(data, random)


def _other_frame(frame: pl.DataFrame, column: str, random: Random) -> pl.DataFrame:
    way = random.random()
    if way < 0.7:
        return frame.with_columns(_other_column(frame[column], random))
    if way < 0.8:
        return frame.drop(column)
    if way < 0.9:
        return pl.concat([frame, frame.sample(fraction=0.5, seed=random.randrange(1000))])
    return frame.rename({column: f"{column}_"})


def _other_column(column: pl.Series, random: Random) -> pl.Series:
    """With one value replaced by a hostile one of its own type; or of another type altogether."""
    values = column.to_list()
    where = random.randrange(len(values)) if values else 0
    if random.random() < 0.15 or not values:
        return pl.Series(column.name, [random.choice(HOSTILE) for _ in values], pl.String)
    if column.dtype == pl.String:
        values[where] = random.choice((None, *HOSTILE))
    elif column.dtype.is_integer():
        number = other_number(values[where] or 0, random)
        values[where] = random.choice((None, number, -(2**63), 2**63 - 1, 0))
    elif column.dtype.is_float():
        values[where] = random.choice((None, float("nan"), float("inf"), 1e308, -1e308, 5e-324, -1.0))
    else:
        values[where] = None
    return pl.Series(column.name, values, column.dtype, strict=False)
