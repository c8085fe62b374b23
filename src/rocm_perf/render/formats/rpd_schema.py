"""The shape of an RPD database, schema 2. The names of tables and columns are those of rocmProfileData; the queries
of the views are ours."""

from __future__ import annotations

_KEY = '"id" integer NOT NULL PRIMARY KEY AUTOINCREMENT'
# A column is an integer unless its length as text follows.
_TABLES: dict[str, str] = {
    "kernelcodeobject": "id vgpr sgpr fbar",
    "string": "id string:4096",
    "barrierop": "op_ptr_id signalCount aquireFence:8 releaseFence:8",
    "copyapi": "api_ptr_id stream:18 size width height kind dst:18 src:18 dstDevice srcDevice sync pinned",
    "op_inputSignals": "id from_op_id to_op_id",
    "op": "id gpuId queueId sequenceId completionSignal:18 start end description_id opType_id",
    "api": "id pid tid start end apiName_id args_id",
    "api_ops": "id api_id op_id",
    "kernelapi": "api_ptr_id stream:18 gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize "
    "privateSegmentSize kernelArgAddress:18 aquireFence:8 releaseFence:8 codeObject_id kernelName_id",
    "metadata": "id tag:4096 value:4096",
    "monitor": "id deviceType:16 deviceId monitorType:16 start end value:255",
}
_POINTS_TO: dict[str, str] = {
    **dict.fromkeys(("op_id", "op_ptr_id", "from_op_id", "to_op_id"), "op"),
    **dict.fromkeys(("api_id", "api_ptr_id"), "api"),
    **dict.fromkeys(("description_id", "opType_id", "apiName_id", "args_id", "kernelName_id"), "string"),
    "codeObject_id": "kernelcodeobject",
}


def _table(table: str) -> str:
    parts = []
    for column in _TABLES[table].split():
        name, _, length = column.partition(":")
        kind = f"varchar({length})" if length else "bool" if name in ("sync", "pinned") else "integer"
        key = " PRIMARY KEY" if name.endswith("_ptr_id") else ""
        target = _POINTS_TO.get(name)
        points = f' REFERENCES "rocpd_{target}" ("id") DEFERRABLE INITIALLY DEFERRED' if target else ""
        parts.append(_KEY if name == "id" else f'"{name}" {kind} NOT NULL{key}{points}')
    return f'CREATE TABLE "rocpd_{table}" ({", ".join(parts)})'


_COPY = "stream, size, width, height, kind, dst, src, dstDevice, srcDevice, sync, pinned"
_LENGTH = "SUM(x.end - x.start)"
_NAME = " JOIN rocpd_string s ON s.id = "


def _ranking(times: str, whole: str) -> str:
    """Sums in microseconds, truncated as in rocmProfileData."""
    return (
        f"SELECT s.string AS Name, COUNT(*) AS TotalCalls, {_LENGTH} / 1000 AS TotalDuration,"
        f" {_LENGTH} / COUNT(*) / 1000 AS Ave, {_LENGTH} * 100.0 / ({whole}) AS Percentage"
        f" FROM {times} GROUP BY s.string ORDER BY TotalDuration DESC"
    )


_LAUNCHES = "rocpd_api x JOIN rocpd_kernelapi k ON k.api_ptr_id = x.id"
_NAMED_OPS = (
    "(SELECT o.start, o.end, CASE d.string WHEN '' THEN o.opType_id ELSE o.description_id END AS name_id"
    " FROM rocpd_op o JOIN rocpd_string d ON d.id = o.description_id) x"
)
VIEWS: dict[str, str] = {
    "api": "SELECT x.id, pid, tid, start, end, n.string AS apiName, a.string AS args FROM rocpd_api x"
    " JOIN rocpd_string n ON n.id = x.apiName_id JOIN rocpd_string a ON a.id = x.args_id",
    "op": "SELECT x.id, gpuId, queueId, sequenceId, start, end, d.string AS description, t.string AS opType"
    " FROM rocpd_op x JOIN rocpd_string d ON d.id = x.description_id JOIN rocpd_string t ON t.id = x.opType_id",
    "busy": "SELECT gpuId, GpuTime, WallTime, GpuTime * 1.0 / WallTime AS Busy"
    " FROM (SELECT gpuId, SUM(end - start) AS GpuTime FROM rocpd_op GROUP BY gpuId)"
    " JOIN (SELECT MAX(end) - MIN(start) AS WallTime FROM rocpd_op)",
    "ktop": _ranking(f"{_LAUNCHES}{_NAME}k.kernelName_id", f"SELECT {_LENGTH} FROM {_LAUNCHES}"),
    "top": _ranking(f"{_NAMED_OPS}{_NAME}x.name_id", f"SELECT {_LENGTH} FROM rocpd_op x"),
    "kernel": "SELECT o.id, gpuId, queueId, sequenceId, start, end, end - start AS duration, stream, gridX, gridY,"
    " gridZ, workgroupX, workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize, s.string AS kernelName"
    " FROM rocpd_api_ops x JOIN rocpd_op o ON o.id = x.op_id JOIN rocpd_kernelapi k ON k.api_ptr_id = x.api_id"
    f"{_NAME}k.kernelName_id",
    "copy": f"SELECT x.id, pid, tid, start, end, s.string AS apiName, {_COPY} FROM rocpd_copyapi c"
    f" JOIN rocpd_api x ON x.id = c.api_ptr_id{_NAME}x.apiName_id",
    "copyop": "SELECT o.id, gpuId, queueId, sequenceId, o.start, o.end, o.end - o.start AS duration,"
    f" {_COPY}, s.string AS apiName FROM rocpd_api_ops x JOIN rocpd_op o ON o.id = x.op_id"
    f" JOIN rocpd_copyapi c ON c.api_ptr_id = x.api_id JOIN rocpd_api a ON a.id = x.api_id{_NAME}a.apiName_id",
}
STATEMENTS: tuple[str, ...] = (
    *(_table(table) for table in _TABLES),
    'CREATE INDEX "rocpd_strin_string_c7b9cd_idx" ON "rocpd_string" ("string")',
    *(f"CREATE VIEW {view} AS {query}" for view, query in VIEWS.items()),
)
