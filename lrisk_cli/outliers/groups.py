"""Flags and losses of rows -> figures of each group of them: how many are outliers, their risks."""

from collections.abc import Sequence

from lrisk_cli.design.groups import RowGroups
from lrisk_cli.design.weights import total_weight
from lrisk_cli.evaluation.cluster_evaluation import weighted_flags
from lrisk_cli.evaluation.group_figures import ByGroup, GroupFigures, sort_groups
from lrisk_cli.evaluation.influence import count_rows, risk_interval, wilson
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.metrics import Intervals, risk_figures
from lrisk_cli.evaluation.registry import figures_of
from lrisk_cli.names import WeightKind
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.value import sort_losses
from lrisk_cli.types import Array, Flags


def figures_by_group(
    groups: RowGroups,
    losses: Array,
    outliers: Flags | Array,
    spectra: Sequence[Spectrum],
    weights: Array | None,
    kind: WeightKind,
) -> ByGroup:
    """The fraction of outliers and the risks of each group, with intervals. All (n,)."""
    order, bounds = sort_groups(groups)
    found = []
    for code, name in enumerate(groups.names):
        own = order[bounds[code] : bounds[code + 1]]
        if len(own) == 0:
            continue
        masses = None if weights is None else weights[own]
        figures = figures_of(weighted_flags(outliers[own], masses), [Needs.FLAGS])
        ascending = sort_losses(losses[own], masses)
        figures |= risk_figures(ascending, spectra, masses)
        n_rows = len(own)
        effective = float(n_rows) if masses is None else count_rows(masses, kind)
        ends: Intervals = {}
        for spectrum in dict.fromkeys((Spectrum("mean"), *spectra)):
            value = float(figures[str(spectrum)] or 0.0)
            interval = risk_interval(ascending, spectrum, value, masses, kind)
            if interval is not None:
                ends[str(spectrum)] = interval
        fraction = float(figures["outlier_fraction"] or 0.0)
        ends["outlier_fraction"] = wilson(min(fraction, 1.0), effective)
        total = n_rows if masses is None else total_weight(masses)
        found.append(GroupFigures(name, n_rows, figures, ends, total, effective))
    return ByGroup(groups.columns, tuple(found))
