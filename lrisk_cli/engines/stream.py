"""Sweeps over the rows of files, which are read again for every pass.

A thread reads blocks ahead, others encode them and apply the task; few blocks are held at a time,
and the sums are added in the order of the blocks.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

from lrisk_cli.design.encoding import Encoding
from lrisk_cli.engines.blocks import Unchanged, blocks
from lrisk_cli.engines.reduction import Tree
from lrisk_cli.errors import DataError
from lrisk_cli.losses.base import Loss
from lrisk_cli.models.row_digest import RowDigest
from lrisk_cli.names import Missing
from lrisk_cli.native.threads import count_threads
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.rows.sweeps import Part, Sums
from lrisk_cli.tables.table import Batch, Table

Arguments = TypeVar("Arguments")
S = TypeVar("S", bound=Sums)
T = TypeVar("T")

# Blocks that are read ahead.
AHEAD = 2
# Seconds after which a reader looks whether it is still wanted.
PATIENCE = 0.1


class StreamEngine:
    """Rows of a table, encoded again in every pass. n_rows: that are used; digest: of these."""

    def __init__(
        self,
        table: Table,
        encoding: Encoding,
        loss: Loss,
        n_rows: int,
        unchanged: Unchanged,
        report: Report = silent,
    ) -> None:
        self.n_rows, self.passes = n_rows, 1
        self.digest: RowDigest | None = None
        self._table, self._encoding, self._loss = table, encoding, loss
        self._unchanged, self._report = unchanged, report

    def sweep(self, task: Callable[[Part, Arguments], S], arguments: Arguments) -> S:
        """One pass over the files."""
        names = list(dict.fromkeys([self._encoding.target.name, *self._encoding.needed_names]))
        lenient = self._encoding.missing is not Missing.ERROR
        digest = RowDigest() if self.digest is None else None
        self._unchanged.check()

        def work(batch: Batch) -> tuple[int, S | None, RowDigest | None]:
            encoded = self._encoding.encode(batch)
            assert encoded.y is not None  # noqa: S101  (the target is among the columns)
            if not len(encoded.y):
                return batch.n_rows, None, None
            part = Part(encoded.rows, self._loss.targets(encoded.y))
            own = None
            if digest is not None:
                own = RowDigest()
                cells = batch.columns[self._encoding.target.name]
                own.add(encoded.rows, self._encoding.target.as_read(cells, encoded.kept, encoded.y))
            return batch.n_rows, task(part, arguments), own

        tree: Tree[S] = Tree()
        n_read, n_used = 0, 0
        source = blocks(self._table, names, invalid_as_missing=lenient)
        for n_rows, sums, own in _in_order(work, source):
            n_read += n_rows
            self._report(Progress(f"pass {self.passes + 1}", n_read, self._table.n_rows))
            if sums is not None:
                tree.add(sums)
            if own is not None and digest is not None:
                digest.merge(own)
                n_used = digest.n_rows
        self._unchanged.check()
        if digest is not None:
            self.digest = digest
            if n_used != self.n_rows:
                raise DataError(
                    f"{self._table.label}: {n_used} rows can be used, and in the first pass over "
                    f"the files these were {self.n_rows}; let the files rest while they are read"
                )
        self.passes += 1
        return tree.total()


def _in_order(work: Callable[[Batch], T], source: Iterator[Batch]) -> Iterator[T]:
    """What work makes of each block, in their order, with a bounded number of blocks in memory."""
    n_workers = count_threads()
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(n_workers) as pool, _ReadAhead(source) as ahead:
        for block in ahead:
            waiting.append(pool.submit(work, block))
            if len(waiting) > n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _ReadAhead:
    """Takes blocks from an iterator on a thread, at most AHEAD before they are wanted."""

    def __init__(self, source: Iterator[Batch]) -> None:
        self._queue: Queue[Batch | BaseException | None] = Queue(AHEAD)
        self._stop = Event()
        self._thread = Thread(target=self._read, args=(source,), daemon=True)

    def __enter__(self) -> Iterator[Batch]:
        self._thread.start()
        return self._blocks()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _blocks(self) -> Iterator[Batch]:
        while True:
            found = self._queue.get()
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found

    def _read(self, source: Iterator[Batch]) -> None:
        last: BaseException | None = None
        try:
            for block in source:
                if not self._put(block):
                    return
        except BaseException as error:
            last = error
        self._put(last)

    def _put(self, item: Batch | BaseException | None) -> bool:
        """Whether it was taken before nobody wanted more."""
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=PATIENCE)
            except Full:
                continue
            return True
        return False
