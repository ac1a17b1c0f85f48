"""Linear algebra on one thread: BLAS sums depend on the number of threads, results must not."""

import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """While it lasts, BLAS and LAPACK run on one thread, if they were loaded before it."""
    controller = _controller("scipy.linalg" in sys.modules)
    limit: AbstractContextManager[Any] = controller.limit(limits=1, user_api="blas")
    return limit


@cache
def _controller(with_scipy: bool) -> ThreadpoolController:  # noqa: ARG001  (SciPy brings its own)
    """What sets the threads of linear algebra; finding the libraries takes milliseconds."""
    return ThreadpoolController()
