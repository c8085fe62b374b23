"""What to do about a cause, in a setting: the most specific row of remedies.toml that fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from itertools import combinations, product

import msgspec

from rocm_perf.analysis.remedies.setting import Recorded, Setting, Vendor, known
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError
from rocm_perf.once import once

_FILE = "remedies.toml"
_MOST = 220  # characters of a text: more of them push other findings off the screen
# Words that a finding may know beside those of the table.
OF_FINDINGS = ("place", "call", "line", "who")
_PART = re.compile(r"\[([^\[\]]*)\]")
_WORD = re.compile(r"\{(\w+)\}")
# What a row has to be reachable with: a chip and a name of each kind that `gpu` may ask for.
_GPUS: dict[Vendor, tuple[tuple[str, ...], ...]] = {
    "amd": ((), ("gfx942", "AMD Instinct MI300X"), ("gfx1100", "AMD Radeon RX 7900 XTX")),
    "nvidia": ((), ("sm_90", "NVIDIA H200"), ("sm_75", "Tesla T4")),
}
_VENDORS: tuple[Vendor, ...] = ("amd", "nvidia")


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text, and the conditions under which it holds; a list means any of these, but all facts of the recording."""

    text: str
    cause: str | tuple[str, ...] = ()
    name: str = ""  # of a word
    framework: tuple[str, ...] = ()
    gpu: str = ""  # a pattern of chips and names
    recorded: tuple[Recorded, ...] = ()
    missing: tuple[Recorded, ...] = ()
    recorder: tuple[str, ...] = ()
    vendor: Vendor | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the causes, or the name of the word, that the row is about."""
        return (self.name,) if self.name else (self.cause,) if isinstance(self.cause, str) else self.cause

    @property
    def is_general(self) -> bool:
        """Return whether the row holds in every setting."""
        conditions = (self.framework, self.gpu, self.recorded, self.missing, self.recorder, self.vendor)
        return not any(conditions)

    def fits(self, setting: Setting) -> bool:
        """Return whether all conditions hold."""
        return (
            (not self.framework or not set(self.framework).isdisjoint(setting.frameworks))
            and (not self.gpu or any(re.search(self.gpu, name) for name in setting.gpus))
            and set(self.recorded) <= set(setting.recorded)
            and set(self.missing).isdisjoint(setting.recorded)
            and (not self.recorder or not set(self.recorder).isdisjoint(setting.recorders))
            and self.vendor in (None, setting.vendor)
        )

    def specific(self, setting: Setting) -> tuple[int, int, int, int, int]:
        """Return how specific the row is in a setting: the framework counts most, by the order of settings.toml."""
        places = [_order().index(name) for name in self.framework if name in setting.frameworks]
        rank = len(_order()) - min(places) if places else 0
        return rank, *self._weights()

    def may_tie_with(self, other: Row) -> bool:
        """Return whether a setting could fit both rows equally well."""
        contradict = set(self.recorded) & set(other.missing) or set(self.missing) & set(other.recorded)
        return (
            self._weights() == other._weights()
            and _overlap(self.framework, other.framework)
            and _overlap(self.recorder, other.recorder)
            and not contradict
            and self.vendor == other.vendor
        )

    def _weights(self) -> tuple[int, int, int, int]:
        facts = len(self.recorded) + len(self.missing)
        return bool(self.gpu), facts, bool(self.recorder), self.vendor is not None


class Table(msgspec.Struct, frozen=True):
    """The rows of each cause and of each word."""

    causes: Mapping[str, tuple[Row, ...]]
    words: Mapping[str, tuple[Row, ...]]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of remedies.toml."""

    word: tuple[Row, ...]
    remedy: tuple[Row, ...]


def remedy(cause: str, setting: Setting, **words: str) -> str:
    """Return what to do about a cause in this setting.

    Parameters
    ----------
    cause
        One of `causes()`.
    words
        What the finding knows: `place` (a range, a function), `call` (of the runtime), `line` (file and line; else the
        place), `who` (ranks). Those that are not given, or are empty, are left out of the text.
    """
    row = chosen(table().causes[cause], setting)
    given = _safe({"line": words.get("place", ""), **words})
    return _filled(row.text, {**_words(row.text, setting), **given})


def causes() -> tuple[str, ...]:
    """Return the causes that have remedies."""
    return tuple(table().causes)


def word(name: str, setting: Setting) -> str:
    """Return what something is called in this setting: graph, ranges, collectives, ..."""
    return chosen(table().words[name], setting).text


def chosen(rows: Iterable[Row], setting: Setting) -> Row:
    """Return the most specific of the rows that fit."""
    return max((row for row in rows if row.fits(setting)), key=lambda row: row.specific(setting))


@once
def table() -> Table:
    """Return the table, checked."""
    file = resources.files("rocm_perf.analysis.remedies") / _FILE
    return checked(file.read_bytes())


def checked(data: bytes) -> Table:
    """Return the table of a file. Raise InputError unless each cause has one general row, each row can be reached, and
    none depends on the order."""
    try:
        content = msgspec.convert(read_toml(data, _FILE), _File)
    except msgspec.ValidationError as error:
        raise InputError(f"{_FILE} has a wrong row", str(error)) from error
    result = Table(causes=_by_key(content.remedy), words=_by_key(content.word))
    for key, rows in (*result.causes.items(), *result.words.items()):
        if problem := next(_problems(rows), None):
            raise InputError(f"{_FILE}: {key}: {problem}")
    for key, rows in result.causes.items():
        if unknown := {name for row in rows for name in _WORD.findall(row.text)} - {
            *OF_FINDINGS,
            *result.words,
        }:
            raise InputError(f"{_FILE}: {key}: no word is called {', '.join(sorted(unknown))}")
    return result


def _by_key(rows: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        for key in row.keys:
            found.setdefault(key, []).append(row)
    return {key: tuple(listed) for key, listed in found.items()}


def _problems(rows: tuple[Row, ...]) -> Iterator[str]:
    """Yield what is wrong with the rows of one cause."""
    general = sum(row.is_general for row in rows)
    if general != 1:
        yield f"{general} rows hold everywhere, and there must be one"
    for row in rows:
        recorders = {one.name for one in known().recorder}
        if unknown := {*row.framework} - {*_order()} | {*row.recorder} - recorders:
            yield f"settings.toml does not know {', '.join(sorted(unknown))}"
        elif not any(chosen(rows, setting) is row for setting in settings_for(row) if row.fits(setting)):
            yield f"no setting leads to {row.text[:40]!r}"
    for first, second in combinations(rows, 2):
        if first.may_tie_with(second):
            yield f"a setting may fit {first.text[:40]!r} and {second.text[:40]!r} equally well"


def settings_for(row: Row) -> Iterator[Setting]:
    """Yield possible settings that name what the row asks for, and little else."""
    alone = (None,)
    for framework, recorder, vendor in product(row.framework or alone, row.recorder or alone, _VENDORS):
        for gpus in _GPUS[vendor]:
            setting = possible(vendor, framework, recorder, recorded=row.recorded, gpus=gpus)
            if setting is not None:
                yield setting


def possible(
    vendor: Vendor,
    framework: str | None,
    recorder: str | None,
    *,
    recorded: tuple[Recorded, ...] = (),
    gpus: tuple[str, ...] = (),
) -> Setting | None:
    """Return a setting with what follows from its framework and its recorder; None where they exclude one another."""
    one = next((one for one in known().recorder if one.name == recorder), None)
    if one is not None and one.vendor not in (None, vendor):
        return None
    names = {framework, *([one.framework] if one is not None else [])}
    used = [entry for entry in known().framework if entry.name in names]
    names |= {entry.on for entry in used}
    replaced = {name for entry in used for name in entry.replaces}
    frameworks = tuple(name for name in _order() if name in names - replaced)
    if framework is not None and framework not in frameworks:
        return None
    return Setting(
        vendor=vendor,
        frameworks=frameworks,
        recorders=(recorder,) if recorder else (),
        recorded=recorded,
        gpus=gpus,
    )


@once
def _order() -> tuple[str, ...]:
    """Return the frameworks, the most specific first."""
    return tuple(one.name for one in known().framework)


def _overlap(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether two conditions can hold equally: both are empty, or they share a name."""
    return bool(set(first) & set(second)) if first and second else not first and not second


def _words(text: str, setting: Setting) -> dict[str, str]:
    """Return the words of the table that a text asks for."""
    return {name: word(name, setting) for name in _WORD.findall(text) if name in table().words}


def _safe(words: Mapping[str, str]) -> dict[str, str]:
    """Return the words that are known, without what has a meaning in texts."""
    return {name: re.sub(r"[\[\]{}]", "", value) for name, value in words.items() if value}


def _filled(text: str, words: Mapping[str, str]) -> str:
    """Return the text with its words, without the parts whose words are not known or would make it too long."""

    def part(match: re.Match[str]) -> str:
        return match[1] if all(name in words for name in _WORD.findall(match[1])) else ""

    def full(chosen_text: str) -> str:
        return _WORD.sub(lambda match: words.get(match[1], ""), chosen_text)

    with_parts = full(_PART.sub(part, text))
    return with_parts if len(with_parts) <= _MOST else full(_PART.sub("", text))
