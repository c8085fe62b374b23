"""Makes a rocpd database of any size: with the tables and row widths of rocprofv3 7.2, and computed rows.

The same arguments always give the same rows. SQLite generates them itself, so millions take seconds.
"""

from __future__ import annotations

import argparse
import sqlite3
from contextlib import closing
from pathlib import Path

SUFFIX = "_00000a10_7bc0_7bc0_a1ef_000000000001"
GUID = SUFFIX[1:].replace("_", "-")
NODE, PID, THREADS = 3_289_078_373, 4242, 8
KERNELS, FUNCTIONS = 500, 60
START_NS = 168_852_416_804_292

_GUID = f'"guid" TEXT DEFAULT "{GUID}" NOT NULL'
_EXTDATA = '"extdata" JSONB DEFAULT "{}" NOT NULL'
_TABLES = {
    "metadata": '"tag" TEXT NOT NULL, "value" TEXT NOT NULL',
    "string": f'{_GUID}, "string" TEXT NOT NULL UNIQUE',
    "info_node": f"{_GUID}, hash BIGINT, machine_id TEXT, system_name TEXT, hostname TEXT, release TEXT, "
    "version TEXT, hardware_name TEXT, domain_name TEXT",
    "info_process": f"{_GUID}, nid INTEGER, ppid INTEGER, pid INTEGER, init BIGINT, fini BIGINT, "
    f'start BIGINT, "end" BIGINT, command TEXT, environment JSONB DEFAULT "{{}}", {_EXTDATA}',
    "info_thread": f"{_GUID}, nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, name TEXT, start BIGINT, "
    f'"end" BIGINT, {_EXTDATA}',
    "info_agent": f"{_GUID}, nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, "
    "logical_index INTEGER, type_index INTEGER, uuid INTEGER, name TEXT, model_name TEXT, vendor_name TEXT, "
    f"product_name TEXT, user_name TEXT, {_EXTDATA}",
    "info_queue": f"{_GUID}, nid INTEGER, pid INTEGER, name TEXT, {_EXTDATA}",
    "info_stream": f"{_GUID}, nid INTEGER, pid INTEGER, name TEXT, {_EXTDATA}",
    "info_code_object": f"{_GUID}, nid INTEGER, pid INTEGER, agent_id INTEGER, uri TEXT, load_base BIGINT, "
    f"load_size BIGINT, load_delta BIGINT, storage_type TEXT, {_EXTDATA}",
    "info_kernel_symbol": f"{_GUID}, nid INTEGER, pid INTEGER, code_object_id INTEGER, kernel_name TEXT, "
    "display_name TEXT, kernel_object INTEGER, kernarg_segment_size INTEGER, "
    "kernarg_segment_alignment INTEGER, group_segment_size INTEGER, private_segment_size INTEGER, "
    f"sgpr_count INTEGER, arch_vgpr_count INTEGER, accum_vgpr_count INTEGER, {_EXTDATA}",
    "event": f"{_GUID}, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, "
    f'correlation_id INTEGER, call_stack JSONB DEFAULT "{{}}", line_info JSONB DEFAULT "{{}}", {_EXTDATA}',
    "region": f"{_GUID}, nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER NOT NULL, "
    f'start BIGINT NOT NULL, "end" BIGINT NOT NULL, name_id INTEGER NOT NULL, event_id INTEGER, {_EXTDATA}',
    "kernel_dispatch": f"{_GUID}, nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, "
    "agent_id INTEGER NOT NULL, kernel_id INTEGER NOT NULL, dispatch_id INTEGER NOT NULL, "
    'queue_id INTEGER NOT NULL, stream_id INTEGER NOT NULL, start BIGINT NOT NULL, "end" BIGINT NOT NULL, '
    "private_segment_size INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER NOT NULL, "
    "workgroup_size_y INTEGER NOT NULL, workgroup_size_z INTEGER NOT NULL, grid_size_x INTEGER NOT NULL, "
    "grid_size_y INTEGER NOT NULL, grid_size_z INTEGER NOT NULL, region_name_id INTEGER, event_id INTEGER, "
    f"{_EXTDATA}",
}

_COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"

# String 1 is the empty one, 2 and 3 are the categories, the API functions follow.
_SMALL = f"""
INSERT INTO rocpd_metadata(tag, value)
    VALUES ('schema_version', '3'), ('uuid', '{SUFFIX}'), ('guid', '{GUID}');
INSERT INTO rocpd_string(string) VALUES (''), ('KERNEL_DISPATCH'), ('HIP_RUNTIME_API_EXT');
INSERT INTO rocpd_string(string) {_COUNT.format(FUNCTIONS)} SELECT 'hipFunctionNumber' || i FROM n;
INSERT INTO rocpd_info_node(id, hash, machine_id, system_name, hostname, release)
    VALUES ({NODE}, {NODE}, 'made', 'Linux', 'made-host', '6.14.0');
INSERT INTO rocpd_info_process(id, nid, ppid, pid, start, "end", command)
    VALUES ({PID}, {NODE}, 1, {PID}, {START_NS}, {START_NS} + 60000000000, './made --up');
INSERT INTO rocpd_info_thread(id, nid, ppid, pid, tid)
    {_COUNT.format(THREADS)} SELECT {PID} + i - 1, {NODE}, 1, {PID}, {PID} + i - 1 FROM n;
INSERT INTO rocpd_info_agent(id, nid, pid, type, absolute_index, logical_index, type_index, name)
    VALUES (0, {NODE}, {PID}, 'CPU', 0, 0, 0, 'made CPU'), (1, {NODE}, {PID}, 'GPU', 1, 1, 0, 'gfx942'),
           (2, {NODE}, {PID}, 'GPU', 2, 2, 1, 'gfx942');
INSERT INTO rocpd_info_queue(id, nid, pid, name)
    VALUES (0, {NODE}, {PID}, 'Default Queue'), (1, {NODE}, {PID}, 'Queue 0');
INSERT INTO rocpd_info_stream(id, nid, pid, name)
    VALUES (0, {NODE}, {PID}, 'Default Stream'), (1, {NODE}, {PID}, 'Stream 0');
INSERT INTO rocpd_info_code_object(id, nid, pid, agent_id, uri)
    VALUES (1, {NODE}, {PID}, 1, 'memory://4242#offset=0x1&size=2');
INSERT INTO rocpd_info_kernel_symbol(nid, pid, code_object_id, kernel_name, display_name, group_segment_size,
        private_segment_size, kernarg_segment_size, sgpr_count, arch_vgpr_count, accum_vgpr_count)
    {_COUNT.format(KERNELS)}
    SELECT {NODE}, {PID}, 1, '_Z6kernelI' || i || '.kd',
        'void made::kernel<' || i || ', std::array<char*, 3ul>, made::functor<float> >(int, float*)',
        512 * (i % 8), 0, 64, 96, 8 + i % 120, 0 FROM n;
"""

# Each call launches one kernel (as far as there are kernels): they share a stack id.
_CALLS = f"""
INSERT INTO rocpd_event(category_id, stack_id, parent_stack_id, correlation_id)
    {_COUNT.format(":calls")} SELECT 3, i, 0, 0 FROM n;
INSERT INTO rocpd_region(id, nid, pid, tid, start, "end", name_id, event_id)
    {_COUNT.format(":calls")}
    SELECT i, {NODE}, {PID}, {PID} + i % {THREADS}, {START_NS} + i * 5000,
        {START_NS} + i * 5000 + 2000 + i % 1999, 4 + i % {FUNCTIONS}, i FROM n
"""
_DISPATCHES = f"""
INSERT INTO rocpd_event(category_id, stack_id, parent_stack_id, correlation_id)
    {_COUNT.format(":dispatches")} SELECT 2, i, i, 0 FROM n;
INSERT INTO rocpd_kernel_dispatch(id, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id,
        start, "end", private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y,
        workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id)
    {_COUNT.format(":dispatches")}
    SELECT i, {NODE}, {PID}, {PID} + i % {THREADS}, 1 + i % 2, 1 + i % {KERNELS}, i, 1, 1,
        {START_NS} + 3000 + i * 5000, {START_NS} + 3000 + i * 5000 + 1500 + (i * 7919) % 3001,
        0, 512 * (i % 8), 256, 1, 1, 256 * (1 + i % 1000), 1, 1, 1, :calls + i FROM n
"""


def make(file: Path, dispatches: int, calls: int) -> None:
    """Write the database, over an older one if there is one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;"
        )
        for name, columns in _TABLES.items():
            key = '"id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT'
            connection.execute(f'CREATE TABLE "rocpd_{name}{SUFFIX}" ({key}, {columns})')
        sizes = {"dispatches": dispatches, "calls": calls}
        scripts = [_SMALL, _CALLS if calls else "", _DISPATCHES if dispatches else ""]
        for statement in (
            part for script in scripts for part in _suffixed(script).split(";") if part.strip()
        ):
            connection.execute(
                statement, {name: size for name, size in sizes.items() if f":{name}" in statement}
            )
        connection.commit()


def _suffixed(script: str) -> str:
    for name in _TABLES:
        script = script.replace(f"INTO rocpd_{name}(", f'INTO "rocpd_{name}{SUFFIX}"(')
    return script


def main() -> None:
    """Make the database that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dispatches", type=int, default=2_000_000)
    parser.add_argument("--calls", type=int, default=2_000_000)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    make(options.output, options.dispatches, options.calls)
    print(f"{options.output}: {options.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
