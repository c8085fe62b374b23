"""Text about a machine rather than a run: rocminfo, amd-smi, rocm-smi, counter lists, hipconfig. The formats
live in modules of their own; those without a table, and those that are not a recording at all, are here."""

from __future__ import annotations

import re

from rocm_perf.errors import NotARecordingError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.system import amd_smi, list_avail, rocminfo

_USAGE = re.compile(r"^usage:\s+(rocprof\w*|rocprof-\w+|omniperf|omnitrace\S*|rpl_run\.sh)\b", re.MULTILINE)
_VERSION = re.compile(r"^[ \t]*version:[ \t]*(\d+\.\d+\.\d+)[ \t]*$", re.MULTILINE)


def read_hipconfig(source: Source) -> Part:
    """Which HIP is installed, and on which host."""
    text = source.read().data.decode("utf-8", "replace")
    version = re.search(r"^HIP version\s*:\s*(\S+)", text, re.MULTILINE)
    kernel = re.search(r"^Linux (\S+) (\S+) ", text, re.MULTILINE)
    platform = re.search(r"^HIP_PLATFORM\s*:\s*(\S+)", text, re.MULTILINE)
    which = version.group(1) if version else "of unknown version"
    where = platform.group(1) if platform else "an unknown platform"
    return part(
        "hipconfig",
        {},
        tool_version=version.group(1) if version else None,
        host=kernel.group(1) if kernel else None,
        os=f"Linux {kernel.group(2)}" if kernel else None,
        notices=(f"HIP {which} for {where}",),
    )


def refuse_help(source: Source) -> Part:
    """Refuse a profiler's help text, which looks like one of its outputs."""
    text = source.read().data.decode("utf-8", "replace")
    tools = ", ".join(dict.fromkeys(_USAGE.findall(text))) or "a profiler"
    version = _VERSION.search(text)
    raise NotARecordingError(
        f"{source.name} is the help text of {tools}{' ' + version.group(1) if version else ''}",
        "it lists what could be recorded, not what was",
        "Name the files that the profiler wrote instead.",
    )


def _is_hipconfig(peek: Peek) -> bool:
    return not peek.is_binary and bool(re.search(r"^==\s?hipconfig\s*$", peek.text, re.MULTILINE))


def _is_help(peek: Peek) -> bool:
    return not peek.is_binary and bool(_USAGE.search(peek.text))


ADAPTERS = (
    *rocminfo.ADAPTERS,
    *list_avail.ADAPTERS,
    *amd_smi.ADAPTERS,
    Adapter(
        name="hipconfig",
        title="hipconfig --full",
        recognised_by="the heading ==hipconfig",
        claims=_is_hipconfig,
        read=read_hipconfig,
    ),
    Adapter(
        name="profiler-help",
        title="help text of a profiler, which is refused",
        recognised_by="a line `usage: rocprofv3 ...`",
        claims=_is_help,
        read=refuse_help,
    ),
)
