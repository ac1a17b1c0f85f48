"""Threads: linear algebra on one, sweeps over the rows on as many as are allowed.

Sums by BLAS depend on its number of threads, and results must not. So BLAS keeps to one; the rows
are cut into chunks by the shape of the table alone, one thread works on a chunk at a time, and what
the chunks give is added up in their order.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")

# A chunk has at least so many numbers, as handing it to a thread takes time, and there are at most
# so many chunks. Their length is a multiple of what sums of rows are closed after.
CHUNK_NUMBERS, MAX_CHUNKS, CHUNK_STEP = 1 << 21, 8, 2048


class ThreadPool(NamedTuple):
    """Threads that work beside the main one, and how many."""

    helpers: "ThreadPoolExecutor"
    n_threads: int


_pools: list[ThreadPool] = []


def one_thread() -> AbstractContextManager[Any]:
    """While it lasts, BLAS and LAPACK run on one thread, if they were loaded before it."""
    controller = _controller("scipy.linalg" in sys.modules)
    limit: AbstractContextManager[Any] = controller.limit(limits=1, user_api="blas")
    return limit


@cache
def _controller(with_scipy: bool) -> ThreadpoolController:  # noqa: ARG001  (SciPy brings its own)
    """What sets the threads of linear algebra; finding the libraries takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def thread_pool(n_threads: int) -> Iterator[None]:
    """While it lasts, chunks of rows are worked on by so many threads."""
    if n_threads == 1:
        yield
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads) as helpers:
        _pools.append(ThreadPool(helpers, n_threads))
        try:
            yield
        finally:
            _pools.pop()


def count_threads() -> int:
    """How many threads sweeps over the rows may use."""
    return _pools[-1].n_threads if _pools else 1


def over_chunks(work: Callable[[slice], T], n_rows: int, n_columns: int) -> Iterator[T]:
    """work(rows) for every chunk of the rows, in their order; few results are held at a time."""
    chunks = _chunks(n_rows, n_columns)
    if not _pools or len(chunks) == 1:
        yield from map(work, chunks)
        return
    helpers, n_threads = _pools[-1]
    rest = iter(chunks)
    waiting: deque[Future[T]] = deque(
        helpers.submit(work, rows) for rows in islice(rest, n_threads)
    )
    while waiting:
        found = waiting.popleft().result()
        waiting.extend(helpers.submit(work, rows) for rows in islice(rest, 1))
        yield found


def _chunks(n_rows: int, n_columns: int) -> list[slice]:
    """The rows in pieces of equal length, by the shape alone, whatever the number of threads."""
    n_chunks = min(max(n_rows * n_columns // CHUNK_NUMBERS, 1), MAX_CHUNKS)
    length = -(-n_rows // (n_chunks * CHUNK_STEP)) * CHUNK_STEP
    return [slice(start, start + length) for start in range(0, n_rows, length)]
