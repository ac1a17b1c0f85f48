"""Array types that signatures share."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int32]
Index = NDArray[np.intp]
Targets = Array | Codes
