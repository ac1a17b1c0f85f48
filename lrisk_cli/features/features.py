"""From the rows of a design to the features phi that a fit is linear in.

Letters: X (n, columns) encoded rows, the constant last where there is one; phi (n, m + constant),
which are rows again. What a kernel needs is loaded when one is used.
"""

from collections.abc import Iterable

import numpy as np

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.features.linear import LinearMap
from lrisk_cli.features.maps import FeatureOptions
from lrisk_cli.features.phi import Afford, Features, unlimited
from lrisk_cli.features.registry import KERNELS
from lrisk_cli.names import FeatureMapName, RowNorm
from lrisk_cli.native.threads import one_thread
from lrisk_cli.progress import Report, silent
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array

__all__ = ["FeatureOptions", "Features", "build_features", "check_features", "count_values"]

FOURIER_FEATURES = 500


def check_features(options: FeatureOptions) -> None:
    """Refuse options that contradict each other or that the kernel would not read."""
    spec, chosen = KERNELS[options.kernel], options.feature_map
    for option in ("gamma", "degree", "coef0", "rank"):
        if getattr(options, option) is not None and option not in spec.options:
            able = [name for name, each in KERNELS.items() if option in each.options]
            raise _unread(option, None, options.kernel, able)
    if chosen is not None and chosen not in spec.feature_maps:
        able = [name for name, each in KERNELS.items() if chosen in each.feature_maps]
        raise _unread("feature_map", chosen, options.kernel, able)
    if options.embeds and spec.make is not None:
        name = "pca" if options.row_norm is RowNorm.NONE else "row_norm"
        raise InvalidOption(
            name, f"is for linear models; leave out {opt('kernel', options.kernel)}"
        )
    if options.pca is not None and not 0.0 < options.pca <= 1.0:
        raise InvalidOption("pca", f"must be in (0, 1]; got {options.pca:g}")
    gamma = options.gamma
    if isinstance(gamma, float) and not 0.0 < gamma < np.inf:
        raise InvalidOption("gamma", f"must be greater than 0; got {gamma:g}")
    if options.coef0 is not None and not 0.0 <= options.coef0 < np.inf:
        raise InvalidOption("coef0", f"must be at least 0; got {options.coef0:g}")
    if options.rank == "auto" and options.feature_map is FeatureMapName.FOURIER:
        raise InvalidOption(
            "rank",
            "chooses landmarks, and random Fourier features have none; pass a number",
            "auto",
        )


def _unread(option: str, value: str | None, kernel: str, able: Iterable[str]) -> InvalidOption:
    readers, chosen = " and ".join(sorted(able)), opt("kernel", kernel)
    return InvalidOption(option, f"is not used by {chosen} (only by {readers})", value)


def build_features(
    rows: Rows,
    options: FeatureOptions,
    *,
    constant: bool,
    seed: int = 0,
    report: Report = silent,
    afford: Afford = unlimited,
    masses: Array | None = None,
) -> Features:
    """phi of the rows, by the kernel asked for. constant: the last column is the intercept.

    masses: of the rows, by which variances count; landmarks are rows whatever their mass. (n,).
    """
    if options.embeds:
        from lrisk_cli.features.embedding import embed

        with one_thread():
            return embed(rows, options, constant=constant, afford=afford, masses=masses)
    if KERNELS[options.kernel].make is None:
        return Features(rows, LinearMap())
    from lrisk_cli.features.nystroem import landmark_features, make_kernel

    d, rng = rows.shape[1] - constant, np.random.default_rng(seed)
    if options.feature_map is not FeatureMapName.FOURIER:
        return landmark_features(rows, d, options, rng, report, afford, masses)
    from lrisk_cli.features.fourier import draw_fourier

    _, gamma = make_kernel(rows, d, options, rng, masses)
    m = FOURIER_FEATURES if options.rank is None else int(options.rank)
    afford(m)
    phi, feature_map = draw_fourier(gamma, rows, d, m, rng)
    return Features(DenseRows(phi), feature_map)


def count_values(options: FeatureOptions, n_rows: int) -> int | None:
    """How many values the map makes of each of n rows; None where only the rows tell."""
    if options.embeds:
        return None
    if options.feature_map is FeatureMapName.FOURIER:
        return FOURIER_FEATURES if options.rank is None else int(options.rank)
    if options.rank == "auto" or (options.rank is None and options.feature_map is not None):
        return None
    from lrisk_cli.features.nystroem import landmark_count

    return landmark_count(options, n_rows) or n_rows
