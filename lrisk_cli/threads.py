"""Linear algebra on one thread: BLAS sums depend on the number of threads, results must not."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """While it lasts, BLAS and LAPACK run on one thread."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    """What sets the threads of linear algebra; finding the libraries takes milliseconds."""
    return ThreadpoolController()
