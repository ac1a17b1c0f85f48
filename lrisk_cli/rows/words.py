"""Numbers as 64-bit words, of which digests of rows are made."""

import numpy as np
import numpy.typing as npt

from lrisk_cli.types import Array

Words = npt.NDArray[np.uint64]


def folded(numbers: Array) -> Words:
    """Bits of the numbers, the upper half also in the lower; 0 for -0."""
    bits = (numbers + 0.0).view(np.uint64)
    bits ^= bits >> np.uint64(32)
    return bits
