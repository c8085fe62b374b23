"""What happened on the host in an RPD file: API calls, the program's ranges, framework operators,
and the tracer's own work. Schema 3 says which is which; in schema 2 only the name does."""

from __future__ import annotations

import polars as pl

from rocm_perf.ingest.rocpd.tables import Lookup, Run

MARKER = "UserMarker"
_API = ("id", "pid", "tid", "start", "end", "apiName_id", "args_id", "domain_id", "category_id")
_TRACER = r"::writeRows$|^hcc_activity_callback$|DataSource::\w+_callback$|^rpd"
_ROCPROFILER = "RocprofDataSource::"
_SPAN = ("start_ns", "end_ns", "pid", "tid")


def calls(run: Run) -> pl.DataFrame:
    """Every call, with the text of its arguments and the `group` it belongs to: marker, scope, operator,
    or the domain of an API."""
    raw = run.timed("api", _API)
    arguments = run.frame("ustring" if run.has("ustring") else "string", ["id"], texts=["string"])
    rows = raw.select(
        "id",
        "pid",
        "tid",
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        Lookup(arguments).column(raw["args_id"], "string").alias("arguments"),
    )
    names = _names(run)
    rows = rows.hstack(names.get(raw["apiName_id"], "name", "group"))
    if run.has_column("api", "domain_id"):
        rows = rows.with_columns(
            names.column(raw["domain_id"], "domain"),
            names.column(raw["category_id"], "name").alias("category"),
        ).with_columns(_group().alias("group"))
    nameless = rows["name"].null_count()
    if nameless:
        run.lose("API calls whose names are not in the file", nameless)
    return rows.drop_nulls("name")


def _names(run: Run) -> Lookup:
    """The string table, with what each string would mean as the name of a function."""
    strings = run.strings.frame.rename({"string": "name"})
    return Lookup(strings.with_columns(group=group_of_name(pl.col("name"))))


def by_rocprofiler(rows: pl.DataFrame) -> bool:
    """Whether rocprofiler-sdk recorded the kernels (else roctracer did): it records sizes in work-items."""
    return bool(rows["name"].str.starts_with(_ROCPROFILER).any())


def tables(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables of API calls, ranges and operators."""
    group = pl.col("group")
    named = {"marker": pl.coalesce("arguments", "name"), "scope": pl.col("name")}
    ranges = [
        rows.filter(group == kind).select(name.alias("name"), *_SPAN, _source(kind, rows).alias("source"))
        for kind, name in named.items()
    ]
    operators = rows.filter(group == "operator").select(
        "name",
        pl.lit("operator").alias("category"),
        *_SPAN,
        pl.col("id").alias("op_id"),
        pl.col("arguments").str.extract(r'"seq"\s*:\s*(\d{1,18})\b').cast(pl.Int64).alias("sequence"),
    )
    apis = rows.filter(~group.is_in(["marker", "scope", "operator"]))
    return {
        "api_calls": apis.select(group.alias("domain"), "name", *_SPAN, pl.col("id").alias("correlation_id")),
        "ranges": pl.concat(ranges),
        "ops": operators,
    }


def _source(kind: str, rows: pl.DataFrame) -> pl.Expr:
    if kind == "scope":
        return pl.lit("record_function")
    if "domain" not in rows.columns:
        return pl.lit("roctx")
    return pl.when(pl.col("domain") == "nvtx").then(pl.lit("nvtx")).otherwise(pl.lit("roctx"))


def _group() -> pl.Expr:
    """The group of a call: what schema 3 says, else what the name suggests."""
    domain = pl.col("domain")
    return (
        pl.when((pl.col("group") == "marker") | domain.is_in(["marker", "nvtx"]))
        .then(pl.lit("marker"))
        .when((domain == "torch") & (pl.col("category") == "user_scope"))
        .then(pl.lit("scope"))
        .when(domain == "torch")
        .then(pl.lit("operator"))
        .when((pl.col("group") == "rpd") | domain.is_null() | (domain == ""))
        .then("group")
        .otherwise(domain)
    )


def group_of_name(name: pl.Expr) -> pl.Expr:
    """The group that a function name suggests: hip, hsa, cuda, rccl, marker or the tracer's own; anything else is an
    operator."""
    return (
        pl.when(name == MARKER)
        .then(pl.lit("marker"))
        .when(name.str.contains(_TRACER))
        .then(pl.lit("rpd"))
        .when(name.str.contains("^_*hip"))
        .then(pl.lit("hip"))
        .when(name.str.contains("^hsa_"))
        .then(pl.lit("hsa"))
        .when(name.str.contains("^(cuda|cu[A-Z])"))
        .then(pl.lit("cuda"))
        .when(name.str.contains("^[nr]ccl[A-Z]"))
        .then(pl.lit("rccl"))
        .otherwise(pl.lit("operator"))
    )
