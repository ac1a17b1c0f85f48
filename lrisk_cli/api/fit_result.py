"""The results of fits: models, runs, figures, and the ordinary fit beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lrisk_cli.api.fit_files import FitFiles
from lrisk_cli.design.design import RowCounts
from lrisk_cli.evaluation.metrics import AnyTally, Figures, tally_figures
from lrisk_cli.models.fitting import Fitted, Scores
from lrisk_cli.models.model import Model
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.solution import Epoch
from lrisk_cli.types import Array
from lrisk_cli.warnings import Warnings, each_once

if TYPE_CHECKING:
    from lrisk_cli.evaluation.gates import NamedGateResults
    from lrisk_cli.evaluation.group_figures import ByGroup
    from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
    from lrisk_cli.evaluation.page_rows import EvaluatedRows, PageRows
    from lrisk_cli.evaluation.selection import CrossValidation
    from lrisk_cli.solvers.theory import Theory


@dataclass(slots=True)
class Reference:
    """The model that minimises the mean of the losses on the same rows.

    figures: by the rows they are of, as those of a fit.
    """

    model: Model
    figures: dict[str, Figures] = field(default_factory=dict)

    def take(self, name: str, tally: AnyTally, spectra: Sequence[Spectrum]) -> None:
        """Keep the figures of some rows; the losses of the tally are sorted thereby."""
        self.figures[name] = tally_figures(tally, spectra)

    @property
    def tested(self) -> Figures | None:
        """The figures of the rows to test on."""
        return next((self.figures[name] for name in self.figures if name != "training"), None)


@dataclass(slots=True)
class FitResult:
    """One fit. figures: by the rows they are of, "training" and, if any, those to test on.

    scored: only where a file is to hold it. seconds: those of the solver. seen: for a page, losses,
    weights if any and what it shows of the rows, by the rows they are of. means: of class
    probabilities, by rows too. reference: the ordinary fit, if wanted; theory: what the theorems
    say, if wanted. groups: by the rows they are of, where columns of groups are named.
    """

    fitted: Fitted
    files: FitFiles
    seconds: float
    figures: dict[str, Figures] = field(default_factory=dict)
    scored: Scores | None = None
    seen: "dict[str, tuple[Array, Array | None, PageRows]]" = field(default_factory=dict)
    warnings: Warnings = ()
    means: dict[str, "MeanProbabilities"] = field(default_factory=dict)
    reference: Reference | None = None
    theory: "Theory | None" = None
    groups: "dict[str, ByGroup]" = field(default_factory=dict)

    def keep_records(self, choice: "CrossValidation | None", holdout: Any) -> None:
        """Let the model say how it was chosen, and which rows were held out."""
        record = None if choice is None else choice.record()
        model = replace(self.fitted.model, cross_validation=record, holdout=holdout)
        self.fitted = replace(self.fitted, model=model)

    def take(self, name: str, tally: AnyTally, spectra: Sequence[Spectrum]) -> None:
        """Keep the figures of some rows; the losses of the tally are sorted thereby."""
        self.figures[name] = tally_figures(tally, spectra)
        if tally.classes is not None and tally.classes.means is not None:
            self.means[name] = tally.classes.means

    @property
    def model(self) -> Model:
        """The model."""
        return self.fitted.model

    @property
    def epochs(self) -> Sequence[Epoch]:
        """The run of the solver."""
        return self.fitted.solution.epochs

    @property
    def converged(self) -> bool:
        """Whether the gap asked for was proved."""
        return self.fitted.solution.converged

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about its features and about the fit."""
        return self.fitted.notes

    @property
    def tested(self) -> Figures | None:
        """The figures of the rows to test on."""
        return next((self.figures[name] for name in self.figures if name != "training"), None)

    @property
    def tested_groups(self) -> "ByGroup | None":
        """The groups of the rows to test on, or else of those learned from."""
        return list(self.groups.values())[-1] if self.groups else None

    def evaluated_rows(self) -> "list[EvaluatedRows]":
        """What a page draws of the rows, where a page was asked for."""
        found = []
        for name, (losses, weights, rows) in self.seen.items():
            order = np.argsort(losses, kind="stable")
            masses = None if weights is None else weights[order]
            found.append(rows.evaluated(name, self.model, losses[order], masses))
        return found


@dataclass(frozen=True, slots=True)
class Fits:
    """All fits. counts: of the rows that they learned from; notes: on the columns and the folds.

    gate_results: with the risk of the fit that met the gate, where there are several.
    """

    results: tuple[FitResult, ...]
    counts: RowCounts
    notes: tuple[str, ...]
    choice: "CrossValidation | None"
    timings: dict[str, float]
    gate_results: "NamedGateResults" = ()

    @property
    def warnings(self) -> Warnings:
        """Those of all fits, each once; with the risk, where there are several."""
        several = len(self.results) > 1
        return each_once(
            warning.of(each.model.risk) if several else warning
            for each in self.results
            for warning in each.warnings
        )
