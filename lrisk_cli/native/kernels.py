"""The compiled kernels, in the build that this processor can run.

`_core.pyx` is compiled twice: once for any processor, once for AVX2 and FMA.
Set LRISK_PORTABLE=1 to use the first everywhere.
"""

import os
from importlib import import_module
from types import ModuleType


def _suitable_build() -> ModuleType:
    portable = import_module("lrisk_cli._core")
    if os.environ.get("LRISK_PORTABLE") or not portable.cpu_has_avx2():
        return portable
    try:
        return import_module("lrisk_cli._core_avx2")
    except ImportError:  # the compiler could not build it
        return portable


core = _suitable_build()
