"""What a fit would do, for people and as the document that --json prints."""

from typing import Any

from lrisk_cli.design.planning import Plan
from lrisk_cli.errors import opt
from lrisk_cli.reports.documents import rows_document
from lrisk_cli.reports.terminal import describe_rows, plain, print_pairs
from lrisk_cli.tables.memory import spell_size


def print_plan(plan: Plan) -> None:
    """Files, rows, the shape of the design, and its memory."""
    kinds = [feature.kind for feature in plan.features]
    n_files = len(plan.files)
    more = f" and {n_files - 1} more" if n_files > 1 else ""
    widest = max(plan.features, key=lambda feature: feature.n_columns)
    wide = f"; the widest is {plain(widest.name)} ({widest.n_columns} columns)"
    print_pairs(
        [
            ("data", plain(plan.files[0]) + more),
            ("target", plain(plan.target)),
            ("rows", describe_rows(plan.counts)),
            (
                "features",
                f"{kinds.count('number')} of numbers, {kinds.count('category')} of categories"
                f"{_dated(kinds.count('date'))}"
                f"{wide if widest.n_columns > 1 else ''}",
            ),
            (
                "design",
                f"{plan.counts.used} x {plan.n_columns}, {spell_size(plan.design_bytes)}",
            ),
            ("peak memory", f"about {spell_size(plan.peak_bytes)}"),
        ]
    )
    print(f"\nnothing was fitted and nothing written ({opt('dry_run')})")


def _dated(n_dates: int) -> str:
    return f", {n_dates} of dates in parts" if n_dates else ""


def plan_document(plan: Plan) -> dict[str, Any]:
    """The same for programs."""
    return {
        "dry_run": True,
        "files": list(plan.files),
        "target": plan.target,
        "rows": rows_document(plan.counts),
        "features": [
            {"name": each.name, "kind": each.kind, "columns": each.n_columns}
            for each in plan.features
        ],
        "design": {
            "rows": plan.counts.used,
            "columns": plan.n_columns,
            "bytes": plan.design_bytes,
        },
        "peak_memory_bytes": plan.peak_bytes,
    }
