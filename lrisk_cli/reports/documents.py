"""The JSON documents that --json prints: plain keys, no NaN, numbers that round-trip."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.evaluation.gates import Verdict, Worsening
from lrisk_cli.evaluation.metrics import Figures, Intervals
from lrisk_cli.evaluation.selection import Candidate, CrossValidation
from lrisk_cli.models.model import Model, original_units


def print_document(document: Mapping[str, Any]) -> None:
    """One JSON document on standard output."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    print()


def encode_document(document: Mapping[str, Any]) -> bytes:
    """The same document as the contents of a file."""
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def rows_document(counts: RowCounts) -> dict[str, Any]:
    """Rows read, used and dropped, how many for which reason, and cells filled in, if any."""
    dropped = sum(counts.dropped.values())
    return {
        "read": counts.read,
        "used": counts.used,
        "dropped": dropped,
        "reasons": dict(counts.dropped),
        **({"filled": dict(counts.filled)} if counts.filled else {}),
    }


def held_out_rows(counts: RowCounts) -> int:
    """Rows that were read and kept for testing."""
    return counts.read - counts.used - sum(counts.dropped.values())


def fit_document(
    path: str | None,
    model: Model,
    counts: RowCounts,
    training: Figures,
    holdout: Figures | None,
    timings: Mapping[str, float],
    notes: Sequence[str] = (),
    choice: CrossValidation | None = None,
) -> dict[str, Any]:
    """What `fit --json` prints. timings: seconds by name."""
    document = {
        "command": "fit",
        "model": path,
        "task": str(model.task),
        "risk": model.risk,
        "loss": model.loss,
        "l2": model.l2,
        "feature_map": model.feature_map.summary(),
        **_exposure(model),
        "fit": model.fit.as_dict(),
        "training": training,
        "holdout": holdout,
        "rows": {**rows_document(counts), "held_out": held_out_rows(counts)},
        "notes": list(notes),
        "timings": dict(timings),
    }
    return document if choice is None else {**document, "cross_validation": choice_document(choice)}


def path_document(
    fits: Sequence[Mapping[str, Any]], timings: Mapping[str, float]
) -> dict[str, Any]:
    """What `fit --json` prints for several risks: the document of each."""
    return {"command": "fit", "fits": list(fits), "timings": dict(timings)}


def choice_document(choice: CrossValidation) -> dict[str, Any]:
    """The figures of all candidates and which was chosen."""
    scheme = choice.scheme
    return {
        "folds": scheme.n_folds,
        "seed": scheme.seed,
        "select_by": scheme.metric,
        "larger_is_better": scheme.larger_is_better,
        "candidates": [
            {
                **_candidate(each),
                "fold_values": list(each.fold_values),
                "fits_not_converged": each.n_unproved,
            }
            for each in choice.candidates
        ],
        "chosen": _candidate(choice.chosen),
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "risk": str(candidate.options.risk),
        "l2": candidate.l2,
        "value": candidate.value,
        "standard_error": candidate.standard_error,
    }


def evaluation_document(
    path: str,
    counts: RowCounts,
    figures: Figures,
    intervals: Intervals | None,
    verdicts: Sequence[Verdict],
) -> dict[str, Any]:
    """What `evaluate --json` prints; intervals only where they were asked for."""
    document: dict[str, Any] = {
        "command": "evaluate",
        "model": path,
        "rows": rows_document(counts),
        "metrics": figures,
    }
    if intervals is not None:
        document["intervals"] = {name: list(ends) for name, ends in intervals.items()}
    return {**document, "gates": gates_document(verdicts)}


def prediction_document(model: str, output: str | None, counts: RowCounts) -> dict[str, Any]:
    """What `lrisk predict --json` prints; the predictions are in the file."""
    return {
        "command": "predict",
        "model": model,
        "predictions": output,
        "rows": rows_document(counts),
    }


def gates_document(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Each gate with what it judged."""
    return [gate_document(verdict) for verdict in verdicts]


def gate_document(verdict: Verdict) -> dict[str, Any]:
    """A gate, the figure it met, and whether that fails it, or is worth a warning."""
    gate = verdict.gate
    stored = {"stored": gate.stored} if isinstance(gate, Worsening) else {}
    return {
        "gate": str(gate),
        "metric": gate.metric,
        "value": verdict.value,
        "comparison": gate.comparison,
        "threshold": gate.threshold,
        **stored,
        "failed": verdict.failed,
        "warned": verdict.warned,
    }


def model_document(path: str, model: Model) -> dict[str, Any]:
    """What `show --json` prints: coefficients in units of the file, largest effect first.

    A kernel model has no coefficients of columns, so it shows none.
    """
    outputs = output_names(model)
    return {
        "command": "show",
        "model": path,
        "task": str(model.task),
        "target": model.target.name,
        "classes": list(model.target.classes),
        "risk": model.risk,
        "loss": model.loss,
        "l2": model.l2,
        "feature_map": model.feature_map.summary(),
        **_exposure(model),
        **(_coefficients(model, outputs) if model.is_linear else {}),
        "fit": model.fit.as_dict(),
    }


def _exposure(model: Model) -> dict[str, str]:
    """The column of exposures, of models that have one."""
    name = model.encoding.exposure
    return {} if name is None else {"exposure": name}


def _coefficients(model: Model, outputs: Sequence[str]) -> dict[str, Any]:
    units = original_units(model)
    return {
        "intercept": _by_output(outputs, units.intercepts),
        "coefficients": [
            {
                "column": units.columns[j],
                "effect": float(units.effects[j]),
                "coefficient": _by_output(outputs, units.coefficients[j]),
            }
            for j in largest_first(units.effects)
        ],
    }


def _by_output(outputs: Sequence[str], values: Any) -> float | dict[str, float]:
    """The number itself where there is one output, otherwise numbers by class."""
    numbers: list[float] = values.tolist()
    return numbers[0] if len(numbers) == 1 else dict(zip(outputs, numbers, strict=True))


def output_names(model: Model) -> list[str]:
    """What each output of the model is about: the target, or a class of it."""
    classes = model.target.classes
    return (
        [model.target.name] if not classes else list(classes[1:] if len(classes) == 2 else classes)
    )


def largest_first(effects: Any) -> list[int]:
    """Positions by falling effect; equal ones in their order."""
    return sorted(range(len(effects)), key=lambda j: -float(effects[j]))
