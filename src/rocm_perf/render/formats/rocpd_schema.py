"""The shape of a rocpd database, schema 3: its tables, which carry the id of their process in their names, and
the views over them. The names of tables and columns are those of rocprofv3 (ROCm 7.0 to 7.2); the queries are ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# A column is an integer unless _KINDS says otherwise; ! marks one that is never null.
TABLES: dict[str, str] = {
    "metadata": "tag! value!",
    "string": "string!",
    "info_node": "hash! machine_id! system_name hostname release version hardware_name domain_name",
    "info_process": "nid! ppid pid! init fini start end command environment extdata",
    "info_thread": "nid! ppid pid! tid! name start end extdata",
    "info_agent": "nid! pid! type absolute_index logical_index type_index uuid name model_name vendor_name "
    "product_name user_name extdata",
    "info_queue": "nid! pid! name extdata",
    "info_stream": "nid! pid! name extdata",
    "info_pmc": "nid! pid! agent_id target_arch event_code instance_id name! symbol! description long_description "
    "component units value_type block expression is_constant is_derived extdata",
    "info_code_object": "nid! pid! agent_id uri load_base load_size load_delta storage_type extdata",
    "info_kernel_symbol": "nid! pid! code_object_id! kernel_name display_name kernel_object kernarg_segment_size "
    "kernarg_segment_alignment group_segment_size private_segment_size sgpr_count arch_vgpr_count accum_vgpr_count "
    "extdata",
    "track": "nid! pid tid name_id extdata",
    "event": "category_id stack_id parent_stack_id correlation_id call_stack line_info extdata",
    "arg": "event_id! position! type! name! value extdata",
    "pmc_event": "event_id pmc_id! value extdata",
    "region": "nid! pid! tid! start! end! name_id! event_id extdata",
    "sample": "track_id! timestamp! event_id extdata",
    "kernel_dispatch": "nid! pid! tid agent_id! kernel_id! dispatch_id! queue_id! stream_id! start! end! "
    "private_segment_size group_segment_size workgroup_size_x! workgroup_size_y! workgroup_size_z! grid_size_x! "
    "grid_size_y! grid_size_z! region_name_id event_id extdata",
    "memory_copy": "nid! pid! tid start! end! name_id! dst_agent_id dst_address src_agent_id src_address size! "
    "queue_id stream_id region_name_id event_id extdata",
    "memory_allocate": "nid! pid! tid agent_id type level start! end! address size! queue_id stream_id event_id "
    "extdata",
}

_TEXTS = (
    "tag value string machine_id system_name hostname release version hardware_name domain_name command type name "
    "model_name vendor_name product_name user_name target_arch symbol description long_description component units "
    "value_type block expression uri storage_type kernel_name display_name level"
)
_LONG = "hash init fini start end timestamp load_base load_size load_delta"
_KINDS: dict[str, str] = {
    **dict.fromkeys(_TEXTS.split(), "TEXT"),
    **dict.fromkeys(("environment", "extdata", "call_stack", "line_info"), "JSONB DEFAULT '{}' NOT NULL"),
    **dict.fromkeys(_LONG.split(), "BIGINT"),
}
_KINDS_IN: dict[tuple[str, str], str] = {
    ("string", "string"): "TEXT UNIQUE ON CONFLICT ABORT",
    ("info_node", "hash"): "BIGINT UNIQUE",
    ("info_node", "machine_id"): "TEXT UNIQUE",
    ("info_agent", "type"): "TEXT CHECK (\"type\" IN ('CPU', 'GPU'))",
    ("info_pmc", "target_arch"): "TEXT CHECK (\"target_arch\" IN ('CPU', 'GPU'))",
    ("info_pmc", "value_type"): "TEXT CHECK (\"value_type\" IN ('ABS', 'ACCUM', 'RELATIVE'))",
    ("info_code_object", "storage_type"): "TEXT CHECK (\"storage_type\" IN ('FILE', 'MEMORY'))",
    ("memory_allocate", "type"): "TEXT CHECK (\"type\" IN ('ALLOC', 'FREE', 'REALLOC', 'RECLAIM'))",
    ("memory_allocate", "level"): "TEXT CHECK (\"level\" IN ('REAL', 'VIRTUAL', 'SCRATCH'))",
    ("pmc_event", "value"): "REAL DEFAULT 0.0",
    ("pmc_event", "extdata"): "JSONB DEFAULT '{}'",
}
# rocprofv3 has AUTOINCREMENT everywhere. It only prevents the reuse of deleted ids, and costs a third of the time to
# fill these.
_LARGE = ("event", "region", "kernel_dispatch", "memory_copy", "memory_allocate", "sample", "pmc_event")
_POINTS_TO: dict[str, str] = {
    "nid": "info_node",
    "pid": "info_process",
    "tid": "info_thread",
    **dict.fromkeys(("agent_id", "dst_agent_id", "src_agent_id"), "info_agent"),
    **dict.fromkeys(("name_id", "region_name_id", "category_id"), "string"),
    "code_object_id": "info_code_object",
    "kernel_id": "info_kernel_symbol",
    "queue_id": "info_queue",
    "stream_id": "info_stream",
    "event_id": "event",
    "track_id": "track",
    "pmc_id": "info_pmc",
}


def statements(suffixes: Sequence[str]) -> Iterator[str]:
    """The statements that create an empty database for these processes."""
    for suffix in suffixes:
        for table in TABLES:
            yield _table(table, suffix)
    for table in TABLES:
        union = " UNION ALL ".join(f'SELECT * FROM "rocpd_{table}{suffix}"' for suffix in suffixes)
        yield f"CREATE VIEW rocpd_{table} AS {union}"
    for view, query in VIEWS.items():
        yield f"CREATE VIEW {view} AS {query}"


def _table(table: str, suffix: str) -> str:
    guid = suffix[1:].replace("_", "-")
    parts = ['"id" INTEGER NOT NULL PRIMARY KEY' + ("" if table in _LARGE else " AUTOINCREMENT")]
    if table != "metadata":
        parts.append(f"\"guid\" TEXT DEFAULT '{guid}' NOT NULL")
    columns = [(column.rstrip("!"), column.endswith("!")) for column in TABLES[table].split()]
    for column, never_null in columns:
        kind = _KINDS_IN.get((table, column)) or _KINDS.get(column, "INTEGER")
        parts.append(f'"{column}" {kind}' + (" NOT NULL" if never_null else ""))
    for column, _ in columns:
        target = _POINTS_TO.get(column)
        if target and target != table:
            parts.append(
                f'FOREIGN KEY ("{column}") REFERENCES "rocpd_{target}{suffix}" (id) ON UPDATE CASCADE'
            )
    return f'CREATE TABLE "rocpd_{table}{suffix}" ({", ".join(parts)})'


def _with(table: str, alias: str, where: str) -> str:
    """A join with one more table, by the id in `where`. A row without a partner stays."""
    owner = where.partition(".")[0]
    return f" LEFT JOIN rocpd_{table} {alias} ON {alias}.id = {where} AND {alias}.guid = {owner}.guid"


def _who(owner: str) -> str:
    return _with("info_process", "p", f"{owner}.pid") + _with("info_thread", "t", f"{owner}.tid")


def _event(owner: str) -> str:
    return _with("event", "e", f"{owner}.event_id") + _with("string", "c", "e.category_id")


def _agent(alias: str = "a", prefix: str = "agent") -> str:
    return (
        f"{alias}.absolute_index AS {prefix}_abs_index, {alias}.logical_index AS {prefix}_log_index, "
        f"{alias}.type_index AS {prefix}_type_index, {alias}.type AS {prefix}_type"
    )


def _json(table: str, **names: str) -> str:
    return ", ".join(f"JSON_EXTRACT({table}.extdata, '$.{path}') AS {name}" for name, path in names.items())


_STACK = "e.stack_id, e.parent_stack_id, e.correlation_id AS corr_id"
_SAID = "e.extdata, e.call_stack, e.line_info"
_MACHINE = (
    "n.id AS nid, n.machine_id, n.system_name, n.hostname, n.release AS system_release,"
    " n.version AS system_version"
)
_PLACE = _with("info_queue", "q", "m.queue_id") + _with("info_stream", "st", "m.stream_id")
_COUNTED = (
    "rocpd_pmc_event pe JOIN rocpd_info_pmc i ON i.id = pe.pmc_id AND i.guid = pe.guid"
    " JOIN rocpd_kernel_dispatch k ON k.event_id = pe.event_id AND k.guid = pe.guid" + _event("pe")
)
_SAMPLED = (
    " FROM rocpd_sample r JOIN rocpd_track tr ON tr.id = r.track_id AND tr.guid = r.guid"
    + _event("r")
    + _with("string", "s", "tr.name_id")
    + _who("tr")
)
_KERNEL_TIMES = "SELECT agent_id, guid, start, end FROM rocpd_kernel_dispatch"
_GPU_TIMES = f"{_KERNEL_TIMES} UNION ALL SELECT dst_agent_id, guid, start, end FROM rocpd_memory_copy"
_NAMED_TIMES = (
    "SELECT s.display_name AS name, k.end - k.start AS duration FROM rocpd_kernel_dispatch k"
    " JOIN rocpd_info_kernel_symbol s ON s.id = k.kernel_id AND s.guid = k.guid"
)
_ALL_TIMES = _NAMED_TIMES + "".join(
    f" UNION ALL SELECT s.string, x.end - x.start FROM rocpd_{table} x"
    " JOIN rocpd_string s ON s.id = x.name_id AND s.guid = x.guid"
    for table in ("memory_copy", "region")
)


def _ranking(times: str) -> str:
    """The time in microseconds, which rocprofv3 uses in these two views only."""
    return (
        "SELECT name, COUNT(*) AS total_calls, SUM(duration) / 1000.0 AS total_duration,"
        " (SUM(duration) / COUNT(*)) / 1000.0 AS average,"
        f" SUM(duration) * 100.0 / (SELECT SUM(duration) FROM ({times})) AS percentage"
        f" FROM ({times}) GROUP BY name ORDER BY total_duration DESC"
    )


VIEWS: dict[str, str] = {
    "code_objects": "SELECT o.id, o.guid, o.nid, p.pid, a.absolute_index AS agent_abs_index, o.uri, o.load_base,"
    " o.load_size, o.load_delta, o.storage_type AS storage_type_str, "
    + _json("o", code_object_size="size", storage_type="storage_type")
    + ", "
    + _json("o", memory_base="memory_base", memory_size="memory_size")
    + f" FROM rocpd_info_code_object o{_with('info_agent', 'a', 'o.agent_id')}{_with('info_process', 'p', 'o.pid')}",
    "kernel_symbols": "SELECT s.id, s.guid, s.nid, p.pid, s.code_object_id, s.kernel_name, s.display_name,"
    " s.kernel_object, s.kernarg_segment_size, s.kernarg_segment_alignment, s.group_segment_size,"
    " s.private_segment_size, s.sgpr_count, s.arch_vgpr_count, s.accum_vgpr_count, "
    + _json(
        "s",
        kernel_symbol_size="size",
        kernel_id="kernel_id",
        kernel_code_entry_byte_offset="kernel_code_entry_byte_offset",
        formatted_kernel_name="formatted_kernel_name",
        demangled_kernel_name="demangled_kernel_name",
        truncated_kernel_name="truncated_kernel_name",
        kernel_address="kernel_address.handle",
    )
    + f" FROM rocpd_info_kernel_symbol s{_with('info_process', 'p', 's.pid')}",
    "processes": f"SELECT {_MACHINE}, p.guid, p.ppid, p.pid, p.init, p.start, p.end, p.fini, p.command"
    f" FROM rocpd_info_process p{_with('info_node', 'n', 'p.nid')}",
    "threads": f"SELECT {_MACHINE}, t.guid, p.ppid, p.pid, t.tid, t.start, t.end, t.name FROM rocpd_info_thread t"
    f"{_with('info_process', 'p', 't.pid')}{_with('info_node', 'n', 't.nid')}",
    "regions": "SELECT r.id, r.guid, c.string AS category, s.string AS name, r.nid, p.pid, t.tid, r.start, r.end,"
    f" r.end - r.start AS duration, r.event_id, {_STACK}, {_SAID}"
    f" FROM rocpd_region r{_event('r')}{_with('string', 's', 'r.name_id')}{_who('r')}",
    "region_args": "SELECT r.id, r.guid, r.nid, p.pid, g.type, g.name, g.value FROM rocpd_region r"
    f" JOIN rocpd_arg g ON g.event_id = r.event_id AND g.guid = r.guid{_with('info_process', 'p', 'r.pid')}",
    "samples": "SELECT r.id, r.guid, c.string AS category, s.string AS name, tr.nid, p.pid, t.tid, r.timestamp,"
    f" r.event_id, {_STACK}, {_SAID}{_SAMPLED}",
    "sample_regions": "SELECT r.id, r.guid, c.string AS category, s.string AS name, tr.nid, p.pid, t.tid,"
    ' r.timestamp AS start, r.timestamp AS "END", 0 AS duration,'
    f" r.event_id, {_STACK}, {_SAID}{_SAMPLED}",
    "regions_and_samples": "SELECT * FROM regions UNION ALL SELECT * FROM sample_regions",
    "kernels": f"SELECT m.id, m.guid, t.tid, c.string AS category, r.string AS region, s.display_name AS name, m.nid,"
    f" p.pid, {_agent()}, s.code_object_id, m.kernel_id, m.dispatch_id, m.stream_id, m.queue_id, q.name AS queue,"
    " st.name AS stream, m.start, m.end, m.end - m.start AS duration, "
    + "".join(f"m.{size}_size_{axis} AS {size}_{axis}, " for size in ("grid", "workgroup") for axis in "xyz")
    + "m.group_segment_size AS lds_size, m.private_segment_size AS scratch_size, s.arch_vgpr_count AS vgpr_count,"
    " s.accum_vgpr_count, s.sgpr_count, s.group_segment_size AS static_lds_size,"
    f" s.private_segment_size AS static_scratch_size, {_STACK} FROM rocpd_kernel_dispatch m"
    f"{_event('m')}{_with('string', 'r', 'm.region_name_id')}{_with('info_kernel_symbol', 's', 'm.kernel_id')}"
    f"{_with('info_agent', 'a', 'm.agent_id')}{_PLACE}{_who('m')}",
    "pmc_info": "SELECT i.id, i.guid, i.nid, p.pid, a.absolute_index AS agent_abs_index, i.is_constant, i.is_derived,"
    " i.name, i.description, i.block, i.expression FROM rocpd_info_pmc i"
    f"{_with('info_agent', 'a', 'i.agent_id')}{_with('info_process', 'p', 'i.pid')}",
    "pmc_events": "SELECT pe.id, pe.guid, pe.pmc_id, pe.event_id, c.string AS category, s.display_name AS name, k.nid,"
    " p.pid, k.dispatch_id, k.start, k.end, k.end - k.start AS duration, i.name AS counter_name,"
    f" pe.value AS counter_value FROM {_COUNTED}{_with('info_kernel_symbol', 's', 'k.kernel_id')}"
    f"{_with('info_process', 'p', 'k.pid')}",
    "events_args": "SELECT e.id AS event_id, c.string AS category, e.stack_id, e.parent_stack_id, e.correlation_id,"
    " g.position AS arg_position, g.type AS arg_type, g.name AS arg_name, g.value AS arg_value, e.call_stack,"
    " e.line_info, g.extdata FROM rocpd_event e JOIN rocpd_arg g ON g.event_id = e.id AND g.guid = e.guid"
    f"{_with('string', 'c', 'e.category_id')}",
    "stream_args": "SELECT g.id AS argument_id, g.event_id, g.position AS arg_position, g.type AS arg_type,"
    f" g.value AS arg_value, {_json('g', stream_id='stream_id')}, s.nid, p.pid, s.name AS stream_name, s.extdata"
    " FROM rocpd_arg g JOIN rocpd_info_stream s ON s.id = JSON_EXTRACT(g.extdata, '$.stream_id') AND s.guid = g.guid"
    f"{_with('info_process', 'p', 's.pid')} WHERE g.name = 'stream'",
    "memory_copies": "SELECT m.id, m.guid, c.string AS category, m.nid, p.pid, t.tid, m.start, m.end,"
    " m.end - m.start AS duration, s.string AS name, r.string AS region_name, m.stream_id, m.queue_id,"
    f" st.name AS stream_name, q.name AS queue_name, m.size, d.name AS dst_device, {_agent('d', 'dst_agent')},"
    f" m.dst_address, f.name AS src_device, {_agent('f', 'src_agent')}, m.src_address, {_STACK}"
    f" FROM rocpd_memory_copy m{_event('m')}{_with('string', 's', 'm.name_id')}"
    f"{_with('string', 'r', 'm.region_name_id')}{_with('info_agent', 'd', 'm.dst_agent_id')}"
    f"{_with('info_agent', 'f', 'm.src_agent_id')}{_PLACE}{_who('m')}",
    "memory_allocations": "SELECT m.id, m.guid, c.string AS category, m.nid, p.pid, t.tid, m.start, m.end,"
    f" m.end - m.start AS duration, m.type, m.level, a.name AS agent_name, {_agent()}, m.address, m.size, m.queue_id,"
    f" q.name AS queue_name, m.stream_id, st.name AS stream_name, {_STACK} FROM rocpd_memory_allocate m"
    f"{_event('m')}{_with('info_agent', 'a', 'm.agent_id')}{_PLACE}{_who('m')}",
    "scratch_memory": f"SELECT m.id, m.guid, m.nid, p.pid, m.type AS operation, a.name AS agent_name, {_agent()},"
    f" m.queue_id, t.tid, {_json('m', alloc_flags='flags')}, m.start, m.end, m.end - m.start AS duration, m.size,"
    f" m.address, e.correlation_id, {_STACK}, c.string AS category, e.extdata AS event_extdata"
    f" FROM rocpd_memory_allocate m{_event('m')}{_with('info_agent', 'a', 'm.agent_id')}{_who('m')}"
    " WHERE m.level = 'SCRATCH' ORDER BY m.start",
    "counters_collection": "SELECT MIN(pe.id) AS id, pe.guid, k.dispatch_id, k.kernel_id, pe.event_id,"
    f" e.correlation_id, e.stack_id, e.parent_stack_id, p.pid, t.tid, k.agent_id, {_agent()},"
    " k.queue_id, k.grid_size_x, k.grid_size_y, k.grid_size_z,"
    " k.grid_size_x * k.grid_size_y * k.grid_size_z AS grid_size, s.display_name AS kernel_name,"
    " r.string AS kernel_region, k.workgroup_size_x, k.workgroup_size_y, k.workgroup_size_z,"
    " k.workgroup_size_x * k.workgroup_size_y * k.workgroup_size_z AS workgroup_size,"
    " k.group_segment_size AS lds_block_size, k.private_segment_size AS scratch_size, s.arch_vgpr_count AS vgpr_count,"
    " s.accum_vgpr_count, s.sgpr_count, i.name AS counter_name, i.symbol AS counter_symbol, i.component,"
    " i.description, i.block, i.expression, i.value_type, i.id AS counter_id, SUM(pe.value) AS value, k.start, k.end,"
    " i.is_constant, i.is_derived, k.end - k.start AS duration, c.string AS category, k.nid, e.extdata,"
    f" s.code_object_id FROM {_COUNTED}{_with('info_agent', 'a', 'k.agent_id')}"
    f"{_with('info_kernel_symbol', 's', 'k.kernel_id')}{_with('string', 'r', 'k.region_name_id')}{_who('k')}"
    " GROUP BY pe.guid, k.dispatch_id, i.name, k.agent_id",
    "top_kernels": _ranking(_NAMED_TIMES),
    "busy": "SELECT g.agent_id, a.type, GpuTime, WallTime, GpuTime * 1.0 / WallTime AS Busy FROM"
    f" (SELECT agent_id, guid, SUM(end - start) AS GpuTime FROM ({_GPU_TIMES}) GROUP BY agent_id, guid) g"
    f" JOIN (SELECT MAX(end) - MIN(start) AS WallTime FROM ({_GPU_TIMES}))"
    f"{_with('info_agent', 'a', 'g.agent_id')}",
    "top": _ranking(_ALL_TIMES),
}  # fmt: skip
