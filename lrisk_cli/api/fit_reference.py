"""The ordinary fit beside others: what guarding the tail gains, and what it costs."""

from collections.abc import Sequence

from lrisk_cli.api.fit_result import FitResult, Reference
from lrisk_cli.design.design import Design
from lrisk_cli.errors import opt
from lrisk_cli.features.features import Features
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.models.mean_model import fit_mean


def add_reference(
    results: Sequence[FitResult],
    fits: Sequence[FitOptions],
    design: Design,
    features: Features,
) -> tuple[str, ...]:
    """Give every fit of another risk than the mean one ordinary fit; what to know about that.

    Where the mean is one of the risks, its fit is the ordinary one.
    """
    flat = [
        result
        for result, each in zip(results, fits, strict=True)
        if each.risk.flat and not each.robust
    ]
    if flat:
        reference = Reference(flat[0].model, flat[0].figures)
    else:
        first, options = results[0], fits[0]
        left = None
        if options.limits.time_limit is not None:
            left = options.limits.time_limit - first.seconds
        model = fit_mean(design, options, first.fitted, features, left)
        if model is None:
            return (
                "reference: left out, because the ordinary fit was not done in time "
                f"({opt('time_limit')})",
            )
        reference = Reference(model)
    for result, each in zip(results, fits, strict=True):
        if each.robust or not each.risk.flat:
            result.reference = reference
    return ()
