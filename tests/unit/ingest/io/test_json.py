"""JSON cut off anywhere gives what is whole; event arrays give the same events whatever the chunks."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError
from rocm_perf.ingest.io import json as module
from rocm_perf.ingest.io import source as source_module
from rocm_perf.ingest.io.json import EventArray, decode, mend, top_level_keys
from rocm_perf.ingest.io.outline import Outline, elements, runs
from rocm_perf.ingest.io.source import Source

TEXTS = st.text(st.sampled_from('ab"\\{}[],: \n/é'), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers(-99, 10**20) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.lists(VALUES, max_size=5) | st.dictionaries(TEXTS, VALUES, max_size=5)
RECORDS = st.lists(st.dictionaries(TEXTS, SCALARS | st.lists(SCALARS, max_size=3), max_size=4), max_size=6)
EVENTS = st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=6)


def _written(document: Any, pretty: bool) -> bytes:
    return json.dumps(document, indent=1 if pretty else None, ensure_ascii=False).encode()


def _is_start_of(part: Any, whole: Any) -> bool:
    """All of it is equal but the last element or member, which may itself be only the start."""
    if isinstance(part, dict) and isinstance(whole, dict):
        names = list(part)
        return all(name in whole for name in names) and all(
            part[name] == whole[name] or (name == names[-1] and _is_start_of(part[name], whole[name]))
            for name in names
        )
    if isinstance(part, list) and isinstance(whole, list):
        return (
            len(part) <= len(whole)
            and part[:-1] == whole[: len(part)][:-1]
            and (not part or part[-1] == whole[len(part) - 1] or _is_start_of(part[-1], whole[len(part) - 1]))
        )
    return bool(part == whole)


@given(document=DOCUMENTS, pretty=st.booleans(), share=st.floats(0, 1))
def test_any_start_of_a_document_is_mended(document: Any, pretty: bool, share: float) -> None:
    data = _written(document, pretty)
    cut = data[: max(1, int(share * len(data)))]
    assert _is_start_of(json.loads(mend(cut)), document)


@given(document=DOCUMENTS, pretty=st.booleans())
def test_a_whole_document_is_not_changed(document: Any, pretty: bool) -> None:
    data = _written(document, pretty)
    assert mend(data) == data
    assert mend(data + b" ]}garbage[") == data


@given(records=RECORDS, pretty=st.booleans(), share=st.floats(0, 1))
def test_a_record_is_kept_whole_or_not_at_all(records: Any, pretty: bool, share: float) -> None:
    data = _written({"head": 1, "records": records}, pretty)
    cut = data[: max(1, int(share * len(data)))]
    kept = json.loads(mend(cut)).get("records", [])
    assert kept == records[: len(kept)]
    whole_in_cut = sum(_written(records[:n], pretty)[:-2].strip() in cut for n in range(1, len(records)))
    assert len(kept) >= whole_in_cut - 1


def test_a_process_is_kept_as_far_as_its_records_go() -> None:
    cut = b'{"tool": [{"pid": 1, "agents": [{"id": 1}], "records": {"kernel": [{"a": 1, "b": 2}, {"a": 3, "b'
    assert json.loads(mend(cut)) == {
        "tool": [{"pid": 1, "agents": [{"id": 1}], "records": {"kernel": [{"a": 1, "b": 2}]}}]
    }


def test_a_document_that_closes_the_wrong_bracket_is_cut_there() -> None:
    assert json.loads(mend(b'{"a": [1, 2}')) == {"a": [1]}


@pytest.mark.parametrize(
    "data",
    [b"[" * 2_000_000, b'{"a":' * 400_000, b'["' + b'\\"' * 2_500_000, b'"\n' * 1_000_000, b"[1]," * 400_000],
    ids=["brackets", "objects", "escapes", "strings", "lists"],
)
@pytest.mark.whole
def test_hostile_structure_takes_linear_time(data: bytes) -> None:
    begun = time.process_time()
    mend(data)
    Outline().extend(data)
    top_level_keys(data[: 64 << 10])
    assert time.process_time() - begun < 20  # quadratic would be hours


@given(document=st.dictionaries(TEXTS, VALUES, max_size=5), pretty=st.booleans())
def test_top_level_keys(document: dict[str, Any], pretty: bool) -> None:
    shown = [key.strip('"') for key in (json.dumps(name, ensure_ascii=False)[1:-1] for name in document)]
    found = top_level_keys(_written(document, pretty))
    assert [key.strip('"') for key in found] == shown


def test_top_level_keys_of_a_start() -> None:
    assert top_level_keys(b'{"a": {"b": 1}, "c": "d\\": ", "e": [{"f": 1}], "g') == ("a", "c", "e")


@given(values=st.lists(VALUES, max_size=6))
def test_elements(values: list[Any]) -> None:
    data = _written(values, False)[1:-1]
    assert [json.loads(element) for element in elements(data) if element.strip()] == values


@given(data=st.text(st.sampled_from('ab"\\{}[],:\n ')))
def test_runs_cover_the_data_once(data: str) -> None:
    found = list(runs(data.encode()))
    assert all(end == start for (_, end), (start, _) in pairwise(found))
    assert all(start < end for start, end in found)


# Whole documents


def _file(tmp_path: Path, data: bytes) -> Source:
    file = tmp_path / "trace.json"
    file.write_bytes(data)
    return Source(file)


class _Document(msgspec.Struct):
    records: list[dict[str, int]] = []


def test_decode(tmp_path: Path) -> None:
    assert decode(_file(tmp_path, b'\xef\xbb\xbf{"records": [{"a": 1}]}'), _Document) == (
        _Document([{"a": 1}]),
        None,
    )


@pytest.mark.parametrize(
    "data",
    [
        b'{"records": [{"a": 1}, {"a',
        b'{"records": [{"a": 1}, {"a": NaN}, {"a": 3}]}',
        b'{"records": [{"a": 1}]}{}',
    ],
    ids=["cut off", "broken in the middle", "two documents"],
)
def test_decode_gives_what_stands_before_the_damage(tmp_path: Path, data: bytes) -> None:
    document, damage = decode(_file(tmp_path, data), _Document)
    assert document.records == [{"a": 1}]
    assert damage


def test_decode_replaces_bytes_that_are_no_text(tmp_path: Path) -> None:
    document, damage = decode(_file(tmp_path, b'{"a\xff": 1}'), dict[str, int])
    assert document == {"a\ufffd": 1}
    assert "UTF-8" in str(damage)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"records": 3}', "layout"),
        (b"hello", "not readable JSON"),
        (b'{"a":' * 100_000, "not readable JSON"),
    ],
)
def test_decode_refuses(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        decode(_file(tmp_path, data), _Document)


# Event arrays


def _events(array: EventArray[list[Any]]) -> list[Any]:
    return [event for piece in array for event in piece]


def _array(tmp_path: Path, data: bytes, key: str | None = "traceEvents") -> EventArray[list[Any]]:
    return EventArray(_file(tmp_path, data), key, msgspec.json.Decoder(list[Any]).decode)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", 40)
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arrays")


@given(
    events=EVENTS | st.lists(VALUES, max_size=6),
    around=st.tuples(*[st.dictionaries(TEXTS, VALUES, max_size=2)] * 2),
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 30)),
    pretty=st.booleans(),
)
def test_any_chunks_give_the_same_events(
    folder: Path, events: Any, around: Any, sizes: tuple[int, int], pretty: bool
) -> None:
    before, after = around
    document = {**before, "traceEvents": events, **{f"{key}-": value for key, value in after.items()}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE_BYTES", sizes[0])
        patch.setattr(source_module, "CHUNK_BYTES", sizes[1])
        array = _array(folder, _written(document, pretty))
        assert _events(array) == events
        assert array.damage is None
        assert json.loads(array.prefix + b"[]" + array.suffix) == {**document, "traceEvents": []}
        bare = _array(folder, _written(events, pretty), None)
        assert (_events(bare), bare.damage) == (events, None)


@given(events=EVENTS, share=st.floats(0, 1, exclude_max=True), size=st.integers(1, 90), pretty=st.booleans())
def test_an_array_cut_off_gives_its_whole_events(
    folder: Path, events: Any, share: float, size: int, pretty: bool
) -> None:
    data = _written({"schemaVersion": 1, "traceEvents": events}, pretty).removesuffix(b"}").rstrip()
    start = data.index(b"[") + 1
    cut = data[: start + int(share * (len(data) - start - 1))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE_BYTES", size)
        patch.setattr(source_module, "CHUNK_BYTES", 11)
        array = _array(folder, cut)
        kept = _events(array)
    assert kept == events[: len(kept)]
    assert array.damage == "the event list breaks off before its end"
    next_ones = events[: len(kept) + 1]
    assert len(kept) == len(events) or _written(next_ones, pretty)[1:-1].strip() not in cut[start - 1 :]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "before",
    [
        b'"note": "\\"traceEvents\\": [1, 2]", ',
        b'"other": {"traceEvents": [1, 2]}, ',
        b'"others": [{"traceEvents": [1, 2]}, "traceEvents"], "x": "traceEvents", ',
        b'"more": "' + b"\\\\" * 700 + b'", ',
    ],
    ids=["in a string", "deeper", "in a list", "behind backslashes"],
)
def test_only_the_list_of_the_outermost_object_counts(tmp_path: Path, before: bytes) -> None:
    array = _array(tmp_path, b"{" + before + b'"traceEvents" : \n [{"a": 1}]}')
    assert _events(array) == [{"a": 1}]
    assert array.damage is None


@pytest.mark.usefixtures("tiny")
def test_names_full_of_brackets(tmp_path: Path) -> None:
    events = [
        {"name": text, "args": [{"x": text}, {}]} for text in ('},{"', "}]", '\\"},{', "[[[", "\\", "],")
    ] * 5
    assert _events(_array(tmp_path, _written({"traceEvents": events}, False))) == events


@pytest.mark.parametrize("key", ["traceEvents", None])
@pytest.mark.parametrize(
    "data", [b'{"a": 1}', b'{"traceEvents": 3}', b"", b"{", b'{"x": {"traceEvents": []}}']
)
def test_a_missing_list_is_said(tmp_path: Path, data: bytes, key: str | None) -> None:
    array = _array(tmp_path, data, key)
    assert _events(array) == []
    assert str(array.damage).startswith("it has no list")
    assert array.prefix == data


def test_an_array_is_not_looked_for_in_all_of_a_wrong_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 10)
    array = _array(tmp_path, b"x" * 1000, None)
    assert _events(array) == []
    assert len(array.prefix) < 100


@pytest.mark.usefixtures("tiny")
def test_garbage_behind_the_array_is_kept_apart(tmp_path: Path) -> None:
    array = _array(tmp_path, b'{"traceEvents": [{"a": 1}, {"a": 2}]}]}],[{"a": 3},{"a": 4}] garbage')
    assert _events(array) == [{"a": 1}, {"a": 2}]
    assert array.damage is None
    assert array.suffix == b'}]}],[{"a": 3},{"a": 4}] garbage'


@pytest.mark.usefixtures("tiny")
def test_a_broken_event_does_not_take_the_others_along(tmp_path: Path) -> None:
    good = [b'{"a": %d}' % number for number in range(40)]
    broken = [*good[:20], b'{"a": NaN}', b'{"a": "x\ny"}', *good[20:]]
    array = _array(tmp_path, b'{"traceEvents": [' + b", ".join(broken) + b'], "b": 1}')
    assert _events(array) == [{"a": number} for number in range(40)]
    assert array.damage == "2 elements of the event list not usable"
    assert array.suffix == b', "b": 1}'


def test_text_that_is_not_utf8_is_replaced(tmp_path: Path) -> None:
    assert _events(_array(tmp_path, b'{"traceEvents": [{"a": "\xe9"}]}')) == [{"a": "\ufffd"}]


@pytest.mark.whole
def test_one_huge_element(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", 1 << 18)
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 1 << 16)
    inner = b'{"x":1},' * 1_000_000
    data = b'{"traceEvents":[{"args":[' + inner + b"1]}]}"
    tries = []

    def piece(data: bytes) -> int:
        tries.append(len(data))
        return len(msgspec.json.decode(data, type=list[msgspec.Raw]))

    assert sum(EventArray(_file(tmp_path, data), "traceEvents", piece)) == 1
    assert sum(tries) < 60 * len(data)


def test_an_element_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", 1000)
    monkeypatch.setattr(module, "MAX_ELEMENT_BYTES", 10_000)
    monkeypatch.setattr(source_module, "CHUNK_BYTES", 1000)
    array = _array(tmp_path, b'{"traceEvents": [1, {"a": [' + b"1," * 100_000)
    assert _events(array) == [1]
    assert "larger than" in str(array.damage)


def test_deep_nesting_is_damage_and_nothing_worse(tmp_path: Path) -> None:
    array = _array(tmp_path, b'{"traceEvents": [{"a": 1}, ' + b"[" * 100_000 + b"]" * 100_000 + b", 2]}")
    assert _events(array) == [{"a": 1}, 2]
    assert array.damage == "1 element of the event list not usable"
    assert _events(_array(tmp_path, b'{"traceEvents": ' + b"[" * 500_000)) == []


def test_an_array_can_be_read_twice(tmp_path: Path) -> None:
    array = _array(tmp_path, b'{"traceEvents": [{"a": 1}, {"a"')
    assert _events(array) == _events(array) == [{"a": 1}]
