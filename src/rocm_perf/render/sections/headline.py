"""The first lines about a run: when it does what, what limits it, and what a remedy is worth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind, is_next_to_nothing
from rocm_perf.model.quantity import Quantity, ratio
from rocm_perf.model.results.ledger import CAUSES, EntryKind, Ledger
from rocm_perf.render.grid import squeezed
from rocm_perf.render.sections.phases import phase_line
from rocm_perf.render.sections.windows import windows_line
from rocm_perf.render.time_shares import is_usual_step, judged_length, kind_ns
from rocm_perf.units import format_count, format_ns, format_share

_MUCH = 100  # times as fast: beyond that the number says no more than "nearly all of it"
# What one row of a table is called.
_NOUNS = {
    "dispatches": ("dispatch", "dispatches"),
    "api_calls": ("API call", "API calls"),
    "ops": ("operator call", "operator calls"),
    "copies": ("copy", "copies"),
    "scratch": ("scratch event", "scratch events"),
    "counters": ("counter value", "counter values"),
    "samples": ("row of sensor readings", "rows of sensor readings"),
    "pc_samples": ("PC sample", "PC samples"),
    "kernels": ("kernel symbol", "kernel symbols"),
    "agents": ("device", "devices"),
    "summaries": ("row of statistics", "rows of statistics"),
    "ceilings": ("measured peak", "measured peaks"),
    "counter_info": ("counter description", "counter descriptions"),
}
FEW = 72  # characters of what to do, in few words
_REASON = re.compile(
    r"(?:The|A|An|It|Not|Nothing|In|Where)\b[^:.]*: (?=\S)"
)  # what comes before the thing to do
_REMARK = re.compile(
    r"(?:Nothing|Not|These|They|It|A|The) "
)  # what a sentence begins with that says nothing to do
_CONDITION = re.compile(r"(?:If|When|Where) ")  # its first clause says nothing to do
_LEAST_CLAUSE = 12  # characters of a clause that says something
_LIST = 1  # words
_SENTENCE = re.compile(r"(?<=[a-z0-9)\"'%]\.) (?=[A-Z\"(])")
_CLAUSE = re.compile(r"[,;:](?= )| \((?=\S)|(?= or | so that | where | which )")
LIMITS: dict[Kind, str] = {
    "host-bound": "the host is the limit",
    "sync": "the host's waiting is the limit",
    "copies": "copies are the limit",
    "communication": "communication is the limit",
    "kernel": "its kernels are the limit",
    "kernel-memory": "its kernels are the limit",
    "kernel-compute": "its kernels are the limit",
    "kernel-latency-or-occupancy": "its kernels are the limit",
    "lds-or-cache": "its kernels are the limit",
    "startup": "nearly everything here happens once",
    "unrecorded-work": "the recording lacks what would explain the rest",
    "nothing-to-gain": "nothing large is left to gain",
    "cannot-tell": "the recording cannot tell more",
}
_LATE_END = 1.02  # of the phase: what is judged longer than that is told apart from it
# Where the kind says too little, or too much: by the id of the finding.
_LIMITS_OF: dict[str, str] = {
    "late-rank": "one rank holds the others up",
    "slow-link": "a slow link is the limit",
}
_COPYING = (
    "copying-to-gpu",
    "copying-to-host",
    "copying-within-gpu",
    "copying-between-gpus",
    "copying",
    "filling",
)
_HOST = (
    "launching",
    "loading-data",
    "host-work",
    "other-calls",
    "compiling",
    "loading-code",
    "first-use",
    "allocating",
    "mpi",
)
# The causes of the ledger that a finding of each kind is about.
CAUSES_OF: dict[Kind, tuple[str, ...]] = {
    "host-bound": (*_HOST, "queue-gaps"),
    "sync": ("waiting-for-gpu", "waiting-for-copy", "launching"),  # late, because the host had waited
    "copies": (*_COPYING, "waiting-for-copy"),
    "communication": ("communicating", "waiting-for-communication", "mpi"),
    "memory": ("allocating",),
    "unrecorded-work": ("unrecorded-work", "not-recorded"),
    "cannot-tell": ("not-recorded", "end-of-work", "host-work", "queue-gaps", "stream-dependency"),
}
_WORTH_NAMING = 0.2  # of the judged time: a cause this large is named beside what comes first
_MOST_TO_GAIN = "its kernels have the most to gain"  # of a GPU that is idle more than it works
_HALF = 0.5  # of the time
_NEARLY_ALL = 0.95  # of the time busy: nothing but kernels is left to explain
_NAME = 60  # characters of a kernel's name
_NAMED = 2  # causes of the first finding that are told with their shares
_SECOND = 0.05  # of the judged time: a second one of less is not told
_LEAST = 0.005  # of the judged time: less is not worth a word
_VERBS: dict[EntryKind, tuple[str, str]] = {  # of one GPU, of several
    "kernel": ("computes", "compute"),
    "communication": ("communicates alone", "communicate alone"),
    "copy": ("copies", "copy"),
    "fill": ("fills memory", "fill memory"),
    "idle": ("is idle", "are idle"),
}


def headline(document: Document) -> Iterator[str]:
    """The phases, and how much the GPU works in the one that is judged."""
    if samples := windows_line(document):
        yield f"{samples[0].upper()}{samples[1:]}."
    if has_phases(document):
        yield phases_told(document)
    yield from limit_line(document)


def phases_told(document: Document) -> str:
    """Return all phases in one line, the judged one as long as the sentences below it say."""
    return phase_line(document.phases, work_ns=document.judged_ns + document.phases.paused_ns)


def has_phases(document: Document) -> bool:
    """Whether there is more to say of phases than that there is one."""
    return len(document.phases.rows) > 1 or document.phases.steps > 0


def limit_line(document: Document) -> Iterator[str]:
    """Yield how much the GPUs work in the time that is judged, by the ledger, and what keeps them from more."""
    ledger = document.ledger
    if ledger.unavailable or not ledger.judged_ns:
        return
    if ledger.idle_unknown:
        yield f"{_in_all(ledger)}; {ledger.idle_unknown}."
    else:
        yield f"{_working(document)}{_limit(document)}."


def busy_share(document: Document) -> Quantity:
    """Return the share of the judged time in which the GPUs work, on average."""
    ledger = document.ledger
    formula = "time of kernels, communication, copies and fills / judged time, of all GPUs"
    return ratio(_busy_ns(ledger), ledger.judged_ns, formula, "busy_ns", "judged_ns")


def _busy_ns(ledger: Ledger) -> int:
    return ledger.judged_ns - ledger.idle_ns


def _in_all(ledger: Ledger) -> str:
    kernels_ns = kind_ns(ledger.entries, "kernel") + kind_ns(ledger.entries, "communication")
    noun = "Kernels" if kernels_ns else "Copies"
    return f"{noun} take {format_ns(kernels_ns or ledger.judged_ns)} in all"


def _working(document: Document) -> str:
    """Return what the GPUs do with the judged time: of a step of each where there are steps."""
    ledger, steps, gpus = document.ledger, document.judged_steps, max(len(document.ledger.gpus), 1)
    each, several = gpus * max(steps, 1), gpus > 1
    length = format_ns(judged_length(document))
    who = f"the {gpus} GPUs on average" if several else "the GPU"
    parts = [
        f"{verb[several]} {'for ' if kind == 'idle' else ''}{format_ns(total_ns / each)} "
        f"({format_share(total_ns / ledger.judged_ns)})"
        for kind, verb in _VERBS.items()
        if (total_ns := kind_ns(ledger.entries, kind)) >= _LEAST * ledger.judged_ns
    ]
    if not steps:
        whole = f"{length}{_apart_from_pauses(document)}"
    elif document.phases.kernel is not None:
        whole = f"the {length} from one launch to the next"
    else:
        whole = f"{_step(document)} of {length}{_beyond_the_phase(document)}"
    return f"Of {whole} {who} {_listed(parts)}"


def _step(document: Document) -> str:
    """Return what a step is called whose length is a mean: the phases tell the median."""
    return "a step" if is_usual_step(document) else "an average step"


def unit(document: Document) -> str:
    """Return what repeats: a step of the program, or the launch of its one kernel."""
    return "step" if document.phases.kernel is None else "launch"


def _listed(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def _beyond_the_phase(document: Document) -> str:
    """Where work of the steps ends after their phase: that the time of a step here is longer than the phase says."""
    phase, gpus = document.phases.judged, max(len(document.ledger.gpus), 1)
    is_longer = phase is not None and document.ledger.judged_ns / gpus > _LATE_END * phase.duration_ns
    return ", up to the end of its last work," if is_longer else ""


def _apart_from_pauses(document: Document) -> str:
    pauses = document.phases.pauses
    if not pauses:
        return ""
    taken = format_ns(document.phases.paused_ns)
    said = f"a pause of {taken}" if len(pauses) == 1 else f"{len(pauses)} pauses of {taken} in all"
    return f", apart from {said},"


def _limit(document: Document) -> str:
    """Return what the first finding is about, in the numbers of the ledger, and what is as large beside it."""
    first = document.findings[0] if document.findings else None
    if first is None or first.kind is None:
        return ""
    ledger = document.ledger
    busy = _busy_ns(ledger) / ledger.judged_ns
    words = _LIMITS_OF.get(first.id) or _limit_of(first.kind, busy)
    if words in (LIMITS["kernel"], _MOST_TO_GAIN):
        return f": {words}{_kernel(first, ledger)}{_beside(ledger, ())}"
    causes = CAUSES_OF.get(first.kind, ())
    return f": {words}{_named(causes, ledger)}{_beside(ledger, causes)}"


def _named(causes: Sequence[str], ledger: Ledger) -> str:
    """Return the causes that the first finding is about with their shares, unless the GPUs' own work says so."""
    told = [each for each in _shares(ledger, causes) if each.cause != "communicating"]
    largest = sorted(told, key=lambda each: -each.total_ns)[:_NAMED]
    kept = [each for each in largest if each is largest[0] or each.share >= _SECOND]
    said = [f"{cause_of(each)} {format_share(each.share)}" for each in kept]
    return f" ({', '.join(said)})" if said else ""


def _kernel(first: Finding, ledger: Ledger) -> str:
    """Return the kernel that the finding names, with its share of the judged time."""
    kernels = (entry for entry in ledger.entries if entry.kind == "kernel" and entry.share >= _SECOND)
    named = next((entry for entry in kernels if entry.place and entry.place in first.title), None)
    return f" ({squeezed(named.place, _NAME)} {format_share(named.share)})" if named else ""


def _beside(ledger: Ledger, causes: Sequence[str]) -> str:
    """Return the largest other cause of time that no kernel takes, where it is large, and larger than these."""
    others = {entry.cause for entry in ledger.entries if entry.kind != "kernel"} - {"communicating", *causes}
    most = max(_shares(ledger, others), key=lambda each: each.total_ns, default=None)
    if most is None or most.share < _WORTH_NAMING or most.total_ns < ledger.total_ns(*causes):
        return ""
    return f"; beside that: {cause_of(most)} {format_share(most.share)}"


class CauseShare(NamedTuple):
    """The time of one cause on all GPUs together."""

    cause: str
    total_ns: int
    share: float  # of the judged time


def cause_of(named: CauseShare) -> str:
    """Return a cause in words."""
    return CAUSES.get(named.cause, named.cause)


def _shares(ledger: Ledger, causes: Iterable[str]) -> list[CauseShare]:
    """Return these causes with their times, without those that are not worth a word."""
    times = {cause: ledger.total_ns(cause) for cause in causes}
    return [
        CauseShare(cause, total_ns, total_ns / ledger.judged_ns)
        for cause, total_ns in times.items()
        if total_ns >= _LEAST * ledger.judged_ns
    ]


def _limit_of(kind: Kind, busy: float) -> str:
    if kind == "unrecorded-work" and busy >= _NEARLY_ALL:
        kind = "kernel"  # what was not recorded ran before the part that is judged
    if LIMITS.get(kind) == LIMITS["kernel"] and busy < _HALF:
        return _MOST_TO_GAIN
    return LIMITS.get(kind, LIMITS["cannot-tell"])


def contents(document: Document) -> str:
    """What a recording without kernel times holds instead."""
    held = {**document.tables, "dispatches": document.coverage.dispatched}  # of one pass, not of all
    counts = [
        format_count(rows, *_NOUNS.get(name, (name.removesuffix("s"), name)))
        for name, rows in held.items()
        if rows and name not in ("nodes", "processes")
    ]
    if not counts:
        return "Nothing is recorded in it."
    return f"No kernel times here; the recording holds {', '.join(counts)}."


def ranked_findings(document: Document) -> tuple[list[Finding], list[Finding]]:
    """The findings in their order, and those about start-up, which come after the others unless one is the first."""
    later = [finding for finding in document.findings[1:] if finding.kind == "startup"]
    return [finding for finding in document.findings if finding not in later], later


def worth(finding: Finding, document: Document) -> str:
    """What the remedy saves, of each step where there are steps, and how that is known; nothing where it is next to
    nothing: the finding says why."""
    stake, steps, wall = finding.time_at_stake_ns, document.judged_steps, document.judged_ns
    if stake is None or is_next_to_nothing(stake, wall):
        return ""
    part = (
        f"{format_ns(stake / steps)} of each {unit(document)}"
        if steps
        else f"{format_ns(stake)} of {format_ns(wall)}"
    )
    basis = _basis(finding)
    known = f", {basis}" if basis else ""
    if not 0 < stake < wall:
        return f"{part}{known}"
    ratio = wall / (wall - stake)
    times = f"{ratio:.1f} times as fast" if ratio >= 1.95 else f"{ratio:.2f} times as fast"
    return f"{part} ({times if ratio < _MUCH else 'nearly all of it'}){known}"


def few_words(text: str, most: int = FEW) -> str:
    """Return the first sentence of a text, cut to whole clauses, or to whole words where even one is too long; never
    within brackets: half of a call is another call."""
    sentences = [each.rstrip(".") for each in _SENTENCE.split(" ".join(text.split()))]
    sentence = next((each for each in sentences if ":" in each or not _REMARK.match(each)), sentences[0])
    if len(sentence) > most:
        sentence = _capital(_REASON.sub("", sentence, count=1))
    if len(sentence) <= most:
        return sentence
    ends = (
        []
        if _CONDITION.match(sentence)
        else [end for end in clause_ends(sentence) if _LEAST_CLAUSE <= end <= most]
    )
    if ends:
        kept = sentence[: ends[-1]].rstrip(",;:")
        before, colon, after = kept.rpartition(": ")
        if colon and len(before) >= _LEAST_CLAUSE and len(after.split()) <= _LIST:
            kept = before  # of a list behind a colon, its first word says little
        return kept
    words = [place for place in _outside_brackets(sentence) if 0 < place < most and sentence[place] == " "]
    kept = sentence[: words[-1]] if words else sentence[: most - 1].rpartition(" ")[0]
    return f"{kept or sentence[: most - 1]}…"


def clause_ends(text: str) -> list[int]:
    """Return where a text may end early: behind each of its clauses, outside of brackets."""
    outside = set(_outside_brackets(text))
    return [end.start() for end in _CLAUSE.finditer(text) if end.start() in outside]


def _outside_brackets(text: str) -> list[int]:
    """Return the places of a text that are in no brackets, in their order."""
    depth, outside = 0, []
    for place, character in enumerate(text):
        if depth == 0:
            outside.append(place)
        depth = max(depth + (character in "([{") - (character in ")]}"), 0)
    return outside


def _capital(text: str) -> str:
    """Return the text with a capital at its start, unless an identifier stands there."""
    first, _, rest = text.partition(" ")
    is_word = first.rstrip(",;").isalpha() and not rest.startswith("= ")
    return f"{text[:1].upper()}{text[1:]}" if is_word else text


def whole_sentences(text: str, most: int) -> str:
    """Return as many whole sentences of a text as fit, at least the first; `--show findings` has all of it."""
    sentences = _SENTENCE.split(" ".join(text.split()))
    kept = sentences[0]
    for sentence in sentences[1:]:
        if len(kept) + 1 + len(sentence) > most:
            break
        kept = f"{kept} {sentence}"
    return kept if len(kept) <= most else few_words(kept, most)


def _basis(finding: Finding) -> str:
    gain = finding.projected_speedup
    if gain is None or "at most" in gain.formula:
        return "at most"
    return "re-timed"
