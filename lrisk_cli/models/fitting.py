"""From a design to a fitted model: state the problem, solve it, keep what was proved."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.design import Design
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.design.groups import RowGroups
from lrisk_cli.design.planning import kernel_bytes
from lrisk_cli.design.target import Target
from lrisk_cli.design.target_scale import smearing_factor
from lrisk_cli.errors import InvalidOption, join_words, opt
from lrisk_cli.features.features import FeatureOptions, Features, build_features, check_features
from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import LossChoice
from lrisk_cli.models.copies import alike_notes, copies_of
from lrisk_cli.models.kept_rows import check_kept_classes, check_kept_rows
from lrisk_cli.models.model import Model, invalid_target
from lrisk_cli.models.model_file import FitRecord, FitStart
from lrisk_cli.models.weight_record import weight_record
from lrisk_cli.names import KernelName, SmoothingName, SolverName, TargetScale
from lrisk_cli.native.threads import one_thread
from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.groups import GroupRisk, Risk
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.registry import SOLVERS, load_solver
from lrisk_cli.solvers.select import (
    SolverOptions,
    check_loss,
    check_options,
    check_risk,
    choose,
    solve,
    uses_inlier_weights,
)
from lrisk_cli.solvers.solution import Limits, Solution, Watch
from lrisk_cli.types import Array

if TYPE_CHECKING:
    from lrisk_cli.robust.inlier_weights import InlierWeights

# Numbers below this have fewer digits.
LEAST_L2 = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class FitOptions:
    """What to minimise and how. l2 and nu: None for 1/n, and for the paper's nu.

    robust: minimise a bounded function of the losses instead of a risk, see `robust_fit.py`; the
    risk is the mean then.
    """

    risk: Risk
    loss: LossChoice = field(default_factory=LossChoice)
    l2: float | None = None
    smoothing: SmoothingName = SmoothingName.NONE
    nu: float | None = None
    solver: SolverOptions = field(default_factory=SolverOptions)
    limits: Limits = field(default_factory=Limits)
    features: FeatureOptions = field(default_factory=FeatureOptions)
    robust: bool = False

    def of_the_mean(self) -> "FitOptions":
        """The certified mean fit with the same loss, penalty and features."""
        how = SolverOptions(seed=self.solver.seed)
        return FitOptions(Spectrum("mean"), self.loss, self.l2, solver=how, features=self.features)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, the run that found it, and what to know about its features.

    inliers: where the risk falls and its inlier weights were estimated.
    """

    model: Model
    solution: Solution
    notes: tuple[str, ...] = ()
    inliers: "InlierWeights | None" = None


def check_fit(options: FitOptions) -> None:
    """Answer impossible options with a sentence before any work starts."""
    check_risk(options.solver.solver, options.risk)
    _check_smoothing(options)
    if options.l2 is not None and not 0.0 < options.l2 < float("inf"):
        raise InvalidOption(
            "l2", f"must be greater than 0, it makes the optimum unique; got {options.l2:g}"
        )
    if options.l2 is not None and options.l2 < LEAST_L2:
        raise InvalidOption(
            "l2",
            f"must be at least {LEAST_L2:.3g}, smaller numbers lose digits; got {options.l2:g}",
        )
    if options.nu is not None and options.smoothing is SmoothingName.NONE:
        add = opt("smoothing", "l2")
        raise InvalidOption("nu", f"has no meaning without smoothing; add {add} or entropy")
    if options.nu is not None and not 0.0 < options.nu < float("inf"):
        raise InvalidOption("nu", f"must be greater than 0; got {options.nu:g}")
    check_features(options.features)
    check_options(options.solver)


def _check_smoothing(options: FitOptions) -> None:
    """Refuse a smoothing that the risk or the solver does not take."""
    smoothing, risk, solver = options.smoothing, options.risk, options.solver.solver
    if smoothing is SmoothingName.NONE or risk.flat:
        return
    if isinstance(risk, GroupRisk):
        raise InvalidOption(
            "smoothing",
            f"is for risks of rows and {risk} is one of groups; leave it out",
            smoothing,
        )
    if smoothing is not SmoothingName.SOFTPLUS:
        if not risk.rising:
            other = "pass softplus" if risk.name == "subquantile" else "leave it out"
            raise InvalidOption(
                "smoothing",
                f"is for rising risks and {risk} falls with the loss; {other}",
                smoothing,
            )
        return
    if risk.rising:
        raise InvalidOption(
            "smoothing",
            f"is for the subquantile and {risk} rises with the loss; pass l2 or entropy",
            smoothing,
        )
    if risk.name != "subquantile":
        raise InvalidOption(
            "smoothing",
            f"smooths the cut of a subquantile and {risk} has none; leave it out",
            smoothing,
        )
    if solver is not SolverName.AUTO and not load_solver(solver).softplus:
        able = join_words(sorted(name for name in SOLVERS if load_solver(name).softplus))
        chosen = opt("solver", solver)
        raise InvalidOption("smoothing", f"is not used by {chosen} (only by {able})", smoothing)


def make_features(design: Design, options: FitOptions, report: Report = silent) -> Features:
    """The features of a design's rows; fits that differ in risk or penalty can share them."""
    constant, seed = design.encoding.intercept, options.solver.seed
    rows, asked = design.rows, options.features

    def afford(n_values: int) -> None:
        """DataError if so many values of each row are too much for the memory limit."""
        if design.allowance is not None:
            mapped = kernel_bytes(rows.shape[0], n_values, flat=options.risk.flat)
            design.allowance.check_features(
                design.label, *rows.shape, mapped, row_bytes=design.encoding.layout.row_bytes
            )

    return build_features(
        rows, asked, constant=constant, seed=seed, report=report, afford=afford,
        masses=design.masses,
    )  # fmt: skip


def fit_design(
    design: Design,
    options: FitOptions,
    report: Report = silent,
    *,
    start: Array | None = None,
    features: Features | None = None,
    inliers: "InlierWeights | None" = None,
    watch: Watch | None = None,
) -> Fitted:
    """Minimise the risk on the rows of the design, whose features may be known already.

    start: W that another risk or penalty led to on these features; it saves work. inliers: their
    inlier weights, where known already. watch: sees every point of the trace.
    """
    options = replace(options, limits=options.limits.begun())
    target = design.encoding.target
    loss = choose_loss(options.loss, target)
    check_loss(options.solver.solver, loss)
    copies = copies_of(design) if options.robust else None
    if copies is not None:
        fitted = fit_design(copies.design, options, report)
        return Fitted(*copies.of_rows(fitted.model, fitted.solution), fitted.notes)
    features = features or make_features(design, options, report)
    _check_targets(design, loss)
    problem = state_problem(design, options, features)
    check_kept_rows(problem, options.risk, linear=options.features.kernel is KernelName.LINEAR)
    if options.robust:
        return _fit_robustly(design, options, problem, features, inliers)
    if not uses_inlier_weights(problem, options.solver):
        inliers = None
    elif inliers is None:
        inliers = inlier_weights_of(design, options)
    w = None if inliers is None else inliers.weights
    solution = solve(problem, options.solver, options.limits, report, start, w, watch)
    if problem.falling and target.classes:
        check_kept_classes(problem, solution.lam, target.classes)
    chosen = choose(problem, options.solver)
    how, groups = (chosen.solver.value, chosen.reason), _groups_of(design, options.risk)
    model = Model(
        encoding=design.encoding,
        loss=loss.name,
        risk=str(options.risk),
        l2=problem.mu,
        coefficients=features.coefficients(solution.W),
        fit=record_fit(design, options, problem, solution, how, inliers),
        feature_map=features.map,
        group_columns=() if groups is None else groups.columns,
        weight=weight_record(design),
    )
    if target.on is not TargetScale.NONE and not loss.kinked:
        model = replace(model, smearing=_smearing(model, design))
    return Fitted(model, solution, features.notes, inliers)


def _fit_robustly(
    design: Design,
    options: FitOptions,
    problem: Problem,
    features: Features,
    inliers: "InlierWeights | None",
) -> Fitted:
    """The rows that are no outliers, by bounded losses or by weights of labels."""
    from lrisk_cli.models.robust_fit import SOLVER, solve_robustly

    inliers = inliers or inlier_weights_of(design, options)
    unit = design.encoding.target.scale
    solved = solve_robustly(problem, inliers, options.limits, design.label, unit)
    how = (SOLVER, solved.why)
    model = Model(
        encoding=design.encoding,
        loss=choose_loss(options.loss, design.encoding.target).name,
        risk=str(options.risk),
        l2=problem.mu,
        coefficients=features.coefficients(solved.solution.W),
        fit=record_fit(design, options, problem, solved.solution, how, inliers),
        feature_map=features.map,
        robust=solved.record,
        weight=weight_record(design),
    )
    notes = (*features.notes, *solved.notes, *alike_notes(design))
    return Fitted(model, solved.solution, notes, inliers)


def _smearing(model: Model, design: Design) -> float | None:
    """Duan's factor, from the rows that the model learned from."""
    predictions = model.predict(model.margins(design.rows))
    residuals = np.asarray(design.targets - predictions, dtype=np.float64)
    return smearing_factor(residuals, design.weights)


def state_problem(design: Design, options: FitOptions, features: Features) -> Problem:
    """What the options minimise on the rows of the design, whose features are known."""
    total, target = design.total, design.encoding.target
    mu = 1.0 / total if options.l2 is None else options.l2
    groups = _groups_of(design, options.risk)
    loss, smoothing = choose_loss(options.loss, target), _smoothing(options, total)
    return make_problem(
        features.phi, design.y, loss.scaled(target.scale), options.risk, mu, smoothing,
        features.outer, exposure=design.exposure, groups=None if groups is None else groups.compact,
        masses=design.masses,
    )  # fmt: skip


def _groups_of(design: Design, risk: Risk) -> RowGroups | None:
    """The groups, where the risk is one of groups."""
    return design.groups if isinstance(risk, GroupRisk) else None


def inlier_weights_of(design: Design, options: FitOptions) -> "InlierWeights":
    """The probability that each row of the design is an inlier, whatever is to be fitted."""
    from lrisk_cli.robust.inlier_weights import find_inlier_weights

    target, seed = design.encoding.target, options.solver.seed
    loss = choose_loss(options.loss, target).scaled(target.scale)
    _check_targets(design, loss)
    with one_thread():
        return find_inlier_weights(
            design.rows,
            loss.targets(design.y, design.exposure),
            loss,
            constant=design.encoding.intercept,
            seed=seed,
            until=options.limits.deadline,
        )


@dataclass(frozen=True, slots=True)
class Scores:
    """Predictions and losses of the rows of a design, in units of the file. All (n,).

    probabilities: of each class, (n, k); None for regression.
    """

    predictions: Array | NDArray[np.int32]
    losses: Array
    probabilities: Array | None = None


def score_design(model: Model, design: Design) -> Scores:
    """Predict the rows of a design and compare with their targets."""
    Z, exposure = model.margins(design.rows), design.exposure
    losses = model.losses(Z, design.targets, exposure)
    return Scores(model.predict(Z, exposure), losses, model.row_loss.probabilities(Z))


def choose_loss(asked: LossChoice, target: Target) -> Loss:
    """The loss for the target, in units of the file; one that does not fit it is refused."""
    return asked.resolve(target.task).make(len(target.classes))


def _check_targets(design: Design, loss: Loss) -> None:
    """Refuse targets that the loss cannot take, and an exposure that it does not."""
    if design.exposure is not None and not loss.takes_exposure:
        raise InvalidOption("exposure", f"is not used by the {loss.name} loss; leave it out")
    invalid = loss.find_invalid(design.targets)
    if invalid is not None:
        at, demand = invalid
        place = f"column '{design.encoding.target.name}', row {int(design.row_numbers[at])}"
        raise invalid_target(place, float(design.targets[at]), loss.name, demand)


def _smoothing(options: FitOptions, total: float) -> Smoothing | None:
    """nu: 1e-3, but 1e-3 n for l2, unless given; as in the paper's experiments. total: n."""
    if options.smoothing is SmoothingName.NONE:
        return None
    usual = 1e-3 * (total if options.smoothing is SmoothingName.L2 else 1)
    return Smoothing(options.smoothing, options.nu or usual)


def record_fit(
    design: Design,
    options: FitOptions,
    problem: Problem,
    solution: Solution,
    how: tuple[str, str],
    inliers: "InlierWeights | None" = None,
) -> FitRecord:
    """How a model was fitted. how: the solver and why."""
    proved, smoothed, smoothing = solution.certificate, solution.smoothed, problem.smoothing
    starts = [
        FitStart(name=each.name, objective=each.objective, rounds=each.rounds)
        for each in solution.starts
    ]
    counts = solution.counts
    as_read = _as_in_file(design.encoding) and not options.features.embeds
    return FitRecord(
        solver=how[0],
        solver_reason=how[1],
        status=solution.status,
        passes=solution.passes,
        objective=solution.objective,
        lower_bound=None if proved is None else proved.lower_bound,
        absolute_gap=None if proved is None else proved.absolute_gap,
        gap=None if proved is None else proved.gap,
        objective_scale="file" if as_read else "standardised",
        smoothing="none" if smoothing is None else smoothing.name.value,
        nu=None if smoothing is None else smoothing.nu,
        smoothed_objective=solution.smoothed_objective,
        smoothed_gap=None if smoothed is None else smoothed.gap,
        step=solution.step,
        seed=options.solver.seed,
        rows_read=design.counts.read,
        rows_used=design.rows.shape[0],
        rows_dropped=sum(design.counts.dropped.values()),
        drop_reasons=design.counts.dropped,
        fingerprint=design.fingerprint,
        cells_filled=design.counts.filled,
        starts=tuple(starts) or None,
        contamination=None if inliers is None else inliers.fraction,
        stationarity=solution.stationarity,
        smoothing_error=_smoothing_error(problem),
        epochs=None if counts is None else counts.epochs,
        gradient_evaluations=None if counts is None else counts.gradient_evaluations,
    )


def _smoothing_error(problem: Problem) -> float | None:
    """The smoothed risk differs from the risk by at most so much; None where there is none."""
    if problem.smoothing is None:
        return None
    from lrisk_cli.solvers.theory import smoothing_error

    found = smoothing_error(problem)
    return None if found is None else found.error


def _as_in_file(encoding: Encoding) -> bool:
    """Whether features and target entered the problem as the numbers in the file."""
    target, (means, scales) = encoding.target, encoding.units
    plain = not means.any() and bool((scales == 1.0).all())
    return plain and (target.mean, target.scale) == (0.0, 1.0)
