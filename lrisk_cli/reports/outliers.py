"""Outliers as aligned text, and as the document that --json prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lrisk_cli.errors import opt
from lrisk_cli.evaluation.worst_rows import MOST_SHOWN, RowSentence, describe_row
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model
from lrisk_cli.names import WORST_TENTH, Task
from lrisk_cli.reports.clusters import cluster_fact, noise_facts
from lrisk_cli.reports.facts import (
    Fact,
    Grid,
    document_of,
    gates_document,
    note_facts,
    number,
    plain,
    plural,
    rows_fact,
    warnings_document,
)
from lrisk_cli.reports.groups import (
    grid_of_groups,
    grid_of_spreads,
    groups_document,
    rest_of_groups,
    spreads_of,
)
from lrisk_cli.reports.model_facts import model_facts, weight_facts
from lrisk_cli.reports.terminal import print_facts, print_gates, print_grid, print_text
from lrisk_cli.tables.places import is_standard_output, place_name

if TYPE_CHECKING:
    from lrisk_cli.evaluation.group_figures import ByGroup
    from lrisk_cli.outliers.detection import Outliers, TopRow

# Figures of groups, the one that orders them first.
GROUP_METRICS = ("outlier_fraction", "mean", WORST_TENTH)


def print_outliers(found: "Outliers") -> None:
    """What was found, the top of the ranking with reasons, and what the gates say."""
    print_facts([*outlier_facts(found), *note_facts(found.notes)])
    print()
    print_grid(top_grid(found), ragged=True)
    if found.by_group is not None:
        _print_groups(found.by_group)
    print_gates(found.gate_results)
    print()
    print_text(_whereabouts(found))


def outliers_document(found: "Outliers") -> dict[str, Any]:
    """What `detect-outliers --json` prints."""
    return {
        "command": "detect-outliers",
        "model": found.model_path,
        "fitted": found.fitted,
        **document_of(outlier_facts(found)),
        "outliers": [_row_document(row, with_id=found.has_ids) for row in found.top],
        "metrics": found.figures,
        **({} if found.by_group is None else groups_document(found.by_group)),
        "gates": gates_document(found.gate_results),
        "fit": found.model.fit.as_dict(),
        "ranking": found.ranking_path,
        "notes": list(found.notes),
        **warnings_document(found.warnings),
        "timings": dict(found.timings),
    }


def _print_groups(by_group: "ByGroup") -> None:
    """The groups with the largest fractions of outliers, and how far all are apart."""
    print()
    print_grid(grid_of_groups(by_group, GROUP_METRICS[0], GROUP_METRICS))
    for sentence in rest_of_groups(by_group):
        print_text(sentence)
    print()
    print_grid(grid_of_spreads(spreads_of(by_group, GROUP_METRICS)))


def outlier_facts(found: "Outliers") -> list[Fact]:
    """What rows are ranked by, and how many stand out."""
    threshold = found.threshold
    counted = {
        "contamination": threshold.fraction,
        "estimated": found.contamination is None,
        "outlier_fraction": found.figures["outlier_fraction"],
        "n_outliers": found.n_outliers,
        "kinds": dict(found.kinds),
        "threshold": threshold.threshold,
    }
    return [
        *_subject_facts(found),
        rows_fact(found.counts),
        *([] if found.fitted and isinstance(found.model, Model) else weight_facts(found.weight)),
        Fact("outliers", describe_threshold(found), counted),
        *_kind_facts(found),
        Fact("score", _describe_score(found), {"scale": threshold.scale}),
    ]


def _subject_facts(found: "Outliers") -> list[Fact]:
    """What the rows are ranked by, named by its file if it was read from one."""
    model, path = found.model, None if found.fitted else found.model_path
    if isinstance(model, ClusterModel):
        kind = {"kind": "clusters", "target": None, "loss": "squared distance"}
        return [Fact("model", cluster_fact(model, path).text, kind), *noise_facts(model)]
    kind = {"kind": str(model.task), "target": model.target.name, "loss": model.loss}
    what, *others = model_facts(model, path)
    return [
        Fact(what.label, what.text, kind),
        *(Fact(fact.label, fact.text, detail=fact.detail) for fact in others),
    ]


def describe_threshold(found: "Outliers") -> str:
    """How many rows are outliers, and how their number was chosen."""
    n, share = found.n_outliers, 100.0 * float(found.figures["outlier_fraction"] or 0.0)
    rows = "none" if n == 0 else f"{plural(n, 'row')} ({share:.3g} %)"
    asked = found.contamination
    said = opt("contamination", f"{asked:g}") if asked is not None else ""
    how = f"as many as {said} says" if said else "estimated from the rows"
    verb = "has" if n == 1 else "have"
    return f"{rows} {verb} a score above {found.threshold.threshold:.3g}; {how}"


def _kind_facts(found: "Outliers") -> list[Fact]:
    """How many rows are of each kind, where they are not all errors."""
    kinds = dict(found.kinds)
    n_tail = kinds.pop("tail", 0)
    words = {
        "error": "in error",
        "group": "in a group apart",
        "leverage": "remote in a column and off the fit",
        "cell": "with a wrong cell",
        "label": "with a wrong label",
    }
    said = [f"{count} {words[kind]}" for kind, count in kinds.items()]
    facts = [Fact("", ", ".join(said), continued=True)] if set(kinds) - {"error", "label"} else []
    if n_tail:
        verb = "forms" if n_tail == 1 else "form"
        text = f"{plural(n_tail, 'row')} {verb} a long tail, which is no error"
        facts.append(Fact("", text, continued=True))
    return facts


def _describe_score(found: "Outliers") -> str:
    """What a score is, in units of the file."""
    model, scale = found.model, number(found.threshold.scale)
    if isinstance(model, ClusterModel):
        if found.fitted:
            return (
                "the largest of three deviations: from the clusters, from the nearest rows, and of "
                "the worst cell"
            )
        return "distance to the nearest centre, in deviations of such distances"
    if found.fitted and model.task is Task.CLASSIFICATION:
        return "log-odds that the label is wrong"
    return model.row_loss.describe_score(scale, plain(model.target.fitted_name))


def outlier_sentences(found: "Outliers") -> list[RowSentence]:
    """The first outliers of a ranking, with their reasons."""
    return [
        describe_row(row.place, row.id, f"score {row.score:.4g}; {row.reason}")
        for row in found.top[:MOST_SHOWN]
        if row.is_outlier
    ]


def top_grid(found: "Outliers", shown: "Sequence[TopRow] | None" = None) -> Grid:
    """The first rows of the ranking, or those shown; the reasons come last."""
    ids, lines = ["id"] if found.has_ids else [], ["line"] if found.has_lines else []
    rows = [
        [
            str(row.rank),
            str(row.place.row),
            *([row.place.spot] if lines else []),
            *(["" if row.id is None else str(row.id)] if ids else []),
            f"{row.score:.4g}",
            row.kind or "no",
            row.reason,
        ]
        for row in (found.top if shown is None else shown)
    ]
    return Grid(["rank", "row", *lines, *ids, "score", "kind", "why"], rows)


def _whereabouts(found: "Outliers") -> str:
    """Where the results are."""
    said = (
        f"all {found.counts.used} rows are ranked {_at(found.ranking_path)}"
        if found.ranking_path
        else "pass -o RANKING.csv to keep the ranking of all rows"
    )
    if found.fitted and found.model_path:
        said += f"; the model is {_at(found.model_path)}"
    return said


def _at(place: str) -> str:
    return f"on {place_name(place)}" if is_standard_output(place) else f"in {place}"


def _row_document(row: "TopRow", *, with_id: bool) -> dict[str, Any]:
    return {
        "rank": row.rank,
        **row.place.document,
        **({"id": row.id} if with_id else {}),
        "loss": row.loss,
        "score": row.score,
        "is_outlier": row.is_outlier,
        "kind": row.kind,
        "reason": row.reason,
        "contributions": [{"column": name, "contribution": part} for name, part in row.parts],
    }
