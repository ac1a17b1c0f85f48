"""The JSON documents that --json prints: plain keys, no NaN, numbers that round-trip."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lrisk_cli.errors import RUNNER_COMMAND
from lrisk_cli.models.model import Model, original_units
from lrisk_cli.reports.facts import (
    decision_facts,
    document_of,
    gates_document,
    held_out_rows,
    interval_facts,
    named_gates_document,
    notes_document,
    rows_document,
    rows_fact,
    warnings_document,
)
from lrisk_cli.reports.model_facts import model_facts, run_facts, weight_facts

if TYPE_CHECKING:
    from lrisk_cli.api.evaluate import Evaluation
    from lrisk_cli.api.fit_result import FitResult, Fits
    from lrisk_cli.api.predict import Predictions
    from lrisk_cli.evaluation.class_errors import Confusion
    from lrisk_cli.evaluation.group_figures import ByGroup
    from lrisk_cli.evaluation.selection import CrossValidation


def print_document(document: Mapping[str, Any]) -> None:
    """One JSON document on standard output."""
    text = json.dumps(document, indent=2, allow_nan=False)
    print(RUNNER_COMMAND.sub(r"\\u0023", text))


def encode_document(document: Mapping[str, Any]) -> bytes:
    """The same document as the contents of a file."""
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def fits_document(fits: "Fits") -> dict[str, Any]:
    """What `fit --json` prints; for several risks, the document of each."""
    timings, gates = dict(fits.timings), named_gates_document(fits.gate_results)
    if len(fits.results) == 1:
        return fit_document(fits, fits.results[0], timings, gates)
    documents = [fit_document(fits, each, {"solve_s": each.seconds}, {}) for each in fits.results]
    warned = warnings_document(fits.warnings)
    return {"command": "fit", "fits": documents, **gates, **warned, "timings": timings}


def fit_document(
    fits: "Fits", result: "FitResult", timings: Mapping[str, float], gates: Mapping[str, Any]
) -> dict[str, Any]:
    """One fit. timings: seconds by name; gates: their results, where the document has them."""
    model, counts = result.model, fits.counts
    chosen = {} if fits.choice is None else {"cross_validation": choice_document(fits.choice)}
    return {
        "command": "fit",
        "model": result.files.model,
        **document_of([*model_facts(model), *run_facts(model)]),
        "training": result.figures["training"],
        "holdout": result.tested,
        "reference": reference_document(result),
        **theory_of_result(result),
        **_groups_of_fit(result),
        "rows": {**rows_document(counts), "held_out": held_out_rows(counts)},
        "notes": [*fits.notes, *result.notes],
        **gates,
        **warnings_document(result.warnings),
        "timings": dict(timings),
        **chosen,
    }


def reference_document(result: "FitResult") -> dict[str, Any] | None:
    """The figures of the ordinary fit under the names of the fit's own; None where it has none."""
    reference = result.reference
    if reference is None:
        return None
    return {"training": reference.figures["training"], "holdout": reference.tested}


def theory_of_result(result: "FitResult") -> dict[str, Any]:
    """What the theorems say, where it was asked for."""
    if result.theory is None:
        return {}
    from lrisk_cli.reports.theory import theory_document

    return {"theory": theory_document(result.theory)}


def choice_document(choice: "CrossValidation") -> dict[str, Any]:
    """The figures of all candidates and which was chosen, as in the model file."""
    return choice.record().as_dict()


def evaluation_document(found: "Evaluation") -> dict[str, Any]:
    """What `evaluate --json` prints; intervals only where they were asked for."""
    intervals = {name: list(ends) for name, ends in (found.intervals or {}).items()}
    return {
        "command": "evaluate",
        "model": found.path,
        **document_of([rows_fact(found.counts), *decision_facts(found), *interval_facts(found)]),
        **document_of(weight_facts(found.weight)),
        "metrics": found.figures,
        **({} if found.intervals is None else {"intervals": intervals}),
        **confusion_document(found.confusion),
        **_groups_document(found.by_group),
        "gates": gates_document(found.gate_results),
        **notes_document(found.notes),
        **warnings_document(found.warnings),
    }


def _groups_of_fit(result: "FitResult") -> dict[str, Any]:
    """The groups of the rows learned from, and of those to test on, where there are any."""
    if not result.groups:
        return {}
    from lrisk_cli.reports.groups import groups_document

    tested = next((result.groups[name] for name in result.groups if name != "training"), None)
    return {
        "groups": {
            "training": groups_document(result.groups["training"]),
            "holdout": None if tested is None else groups_document(tested),
        }
    }


def _groups_document(by_group: "ByGroup | None") -> dict[str, Any]:
    """Figures of groups, where there are any."""
    if by_group is None:
        return {}
    from lrisk_cli.reports.groups import groups_document

    return groups_document(by_group)


def confusion_document(confusion: "Confusion | None") -> dict[str, Any]:
    """Rows by true class (down) and predicted class (across); nothing where they are not known."""
    if confusion is None:
        return {}
    return {
        "confusion": {
            "classes": list(confusion.classes),
            "counts": confusion.counts.tolist(),
        }
    }


def prediction_document(done: "Predictions") -> dict[str, Any]:
    """What `predict --json` prints; the predictions are in the file."""
    return {
        "command": "predict",
        "model": done.model,
        "predictions": done.output,
        **document_of([rows_fact(done.counts)]),
        **named_gates_document([(None, result) for result in done.gate_results]),
        **notes_document(done.notes),
        **warnings_document(done.warnings),
    }


def model_document(path: str, model: Model) -> dict[str, Any]:
    """What `show --json` prints: coefficients in units of the file, largest effect first."""
    facts = document_of([*model_facts(model), *run_facts(model)])
    return {
        "command": "show",
        "model": path,
        "task": facts.pop("task"),
        "target": model.target.name,
        "classes": list(model.target.classes),
        **{key: value for key, value in facts.items() if key != "fit"},
        **_coefficients(model),
        "fit": facts["fit"],
        **warnings_document(()),
    }


def _coefficients(model: Model) -> dict[str, Any]:
    """Of a linear model; a kernel model has none of columns, so it shows none."""
    units = original_units(model)
    if units is None:
        return {}

    def by_output(values: Any) -> float | dict[str, float]:
        """The number itself where there is one output, otherwise numbers by class."""
        numbers: list[float] = values.tolist()
        return numbers[0] if len(numbers) == 1 else dict(zip(units.outputs, numbers, strict=True))

    return {
        "intercept": by_output(units.intercepts),
        "coefficients": [
            {
                "column": units.columns[j],
                "effect": float(units.effects[j]),
                "coefficient": by_output(units.coefficients[j]),
            }
            for j in units.order
        ],
    }
