"""The plan of a fit, as text and as the document that --json prints."""

from typing import Any

from lrisk_cli.design.planning import Plan
from lrisk_cli.errors import opt
from lrisk_cli.reports.facts import (
    Fact,
    document_of,
    note_facts,
    notes_document,
    plain,
    rows_fact,
    warnings_document,
)
from lrisk_cli.reports.terminal import print_facts
from lrisk_cli.tables.memory import spell_size


def print_plan(plan: Plan) -> None:
    """Files, rows, the shape of the design, and its memory."""
    print_facts([*_facts(plan), *note_facts(plan.notes)])
    print(f"\nnothing was fitted and nothing written ({opt('dry_run')})")


def plan_document(plan: Plan) -> dict[str, Any]:
    """The same for programs."""
    return {
        "dry_run": True,
        **document_of(_facts(plan)),
        **notes_document(plan.notes),
        **warnings_document(()),
    }


def _facts(plan: Plan) -> list[Fact]:
    n_files, n_rows = len(plan.files), plan.counts.used
    more = f" and {n_files - 1} more" if n_files > 1 else ""
    features = [
        {"name": each.name, "kind": each.kind, "columns": each.n_columns} for each in plan.features
    ]
    shape = {"rows": n_rows, "columns": plan.n_columns, "bytes": plan.design_bytes}
    return [
        Fact("data", plain(plan.files[0]) + more, {"files": list(plan.files)}),
        Fact("target", plain(plan.target), {"target": plan.target}),
        rows_fact(plan.counts),
        Fact("features", _describe_features(plan), {"features": features}),
        Fact(
            "design",
            f"{n_rows} x {plan.n_columns}, {spell_size(plan.design_bytes)}",
            {"design": shape},
        ),
        Fact(
            "peak memory",
            f"about {spell_size(plan.peak_bytes)}",
            {"peak_memory_bytes": plan.peak_bytes},
        ),
    ]


def _describe_features(plan: Plan) -> str:
    kinds = [feature.kind for feature in plan.features]
    n_dates = kinds.count("date")
    dates = f", {n_dates} of dates in parts" if n_dates else ""
    widest = max(plan.features, key=lambda feature: feature.n_columns)
    wide = f"; the widest is {plain(widest.name)} ({widest.n_columns} columns)"
    return (
        f"{kinds.count('number')} of numbers, {kinds.count('category')} of categories{dates}"
        f"{wide if widest.n_columns > 1 else ''}"
    )
