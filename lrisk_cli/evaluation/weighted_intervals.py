"""Intervals of risks of rows with weights: of units by resampling them, of importances by theory.

Letters: l sorted losses, m their weights, M the sum, p = m / M, n rows.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from lrisk_cli.design.weights import effective_rows
from lrisk_cli.evaluation.influence import Z
from lrisk_cli.evaluation.metrics import Intervals, count_resamples, middle_of
from lrisk_cli.native.kernels import core
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.units import count_units
from lrisk_cli.risk.weighted import SortedMasses
from lrisk_cli.types import Array


def unit_intervals(
    ascending: Array,
    masses: Array,
    spectra: Sequence[Spectrum],
    seed: int = 0,
    report: Report = silent,
) -> Intervals:
    """Percentile intervals of each risk under resampling of the M units with replacement.

    A resample draws M units (rounded) with the probabilities p; its risk is as in
    `bootstrap_intervals`, l_1 + sum_i Q(c_i / M) (l_(i+1) - l_i) with c_i of the units up to row i.
    """
    n, n_units = len(ascending), count_units(masses, len(ascending))
    steps, p = np.diff(ascending), masses / masses.sum()
    n_resamples = count_resamples(n)
    risks = np.empty((len(spectra), n_resamples))
    generator = np.random.Generator(np.random.PCG64(seed))
    for b in range(n_resamples):
        counts = generator.multinomial(n_units, p)
        below = np.cumsum(counts)[:-1] / n_units
        for r, spectrum in enumerate(spectra):
            risks[r, b] = ascending[0] + core.compensated_dot(_above(spectrum, below), steps)
        report(Progress("resampling", b + 1, n_resamples))
    return middle_of(spectra, risks)


def _above(spectrum: Spectrum, levels: Array) -> Array:
    """The weight that the spectrum puts on the losses above each level in [0, 1]. (m,)."""
    densest = 1.0 - levels if spectrum.rising else levels
    of_densest = spectrum.of_rows(densest, np.zeros(len(levels)), 1.0)
    return of_densest if spectrum.rising else 1.0 - of_densest


def importance_intervals(ascending: Array, masses: Array, spectra: Sequence[Spectrum]) -> Intervals:
    """The risk -+ 1.96 standard errors by the sandwich, for weights that are no counts.

    IF_j = sum over i < j of s_i (l_(i+1) - l_i), less its mean by p, s the density of the spectrum
    between the rows; the variance is sum p^2 IF^2 times k / (k - 1), k Kish's effective rows.
    """
    found: Intervals = {}
    p, k, ranked = masses / masses.sum(), effective_rows(masses), SortedMasses(masses)
    for spectrum in spectra:
        value = ranked.risk(ascending, spectrum)
        density = ranked.weights(spectrum) / p
        steps = 0.5 * (density[1:] + density[:-1]) * np.diff(ascending)
        influence = np.append(0.0, np.cumsum(steps))
        influence -= core.compensated_dot(p, influence)
        square = float(np.sum((p * influence) ** 2))
        error = sqrt(square * k / (k - 1.0)) if k > 1.0 else 0.0
        found[str(spectrum)] = max(value - Z * error, 0.0), value + Z * error
    return found
