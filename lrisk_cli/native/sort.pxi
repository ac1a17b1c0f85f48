# Orders of rows: keys enter, the rows by ascending key leave, from scratch or from the last order.

include "radix.pxi"

cdef enum:
    GATHER = 512          # keys fetched at a time by a warm sort


cdef int require_length(Py_ssize_t length, Py_ssize_t n, str name) except -1:
    """Refuse an array that a kernel would overrun."""
    if length < n:
        raise ValueError(f"{name} holds {length} elements; {n} are needed")
    return 0


def argsort(
    const double[::1] keys, int32_t[::1] order, uint64_t[::1] work_a, uint64_t[::1] work_b
):
    """Fill order with the rows by ascending key, equal keys by row. Linear in n for any keys.

    keys: (n,) finite; order: (n,); work_a, work_b: (n,) scratch.
    """
    cdef Py_ssize_t n = keys.shape[0]
    require_length(order.shape[0], n, "order")
    require_length(work_a.shape[0], n, "work_a")
    require_length(work_b.shape[0], n, "work_b")
    if n == 0:
        return
    with nogil:
        argsort_core(&keys[0], &order[0], n, &work_a[0], &work_b[0])


cdef Py_ssize_t argsort_warm_core(
    const double *keys, int32_t *order, Py_ssize_t n, double *sorted_keys, Py_ssize_t budget
) noexcept nogil:
    """argsort_warm; sorted_keys: (n,) scratch."""
    cdef Py_ssize_t i, j, k, moves = 0
    cdef int32_t row
    cdef double key
    # The first i entries are sorted by (key, row). Keys are fetched, and the moves compared with
    # what the rows so far may cost, a few hundred rows at a time: giving up is early and cheap.
    for i in range(n):
        if i % GATHER == 0:
            if <double>n * moves > <double>budget * (i + n // 8):
                return -1
            for k in range(i, min(n, i + GATHER)):
                sorted_keys[k] = keys[order[k]]
        key = sorted_keys[i]
        if i == 0 or sorted_keys[i - 1] < key:
            continue
        row = order[i]
        j = i
        while j > 0 and (
            sorted_keys[j - 1] > key or (sorted_keys[j - 1] == key and order[j - 1] > row)
        ):
            sorted_keys[j] = sorted_keys[j - 1]
            order[j] = order[j - 1]
            j -= 1
        sorted_keys[j] = key
        order[j] = row
        moves += i - j
        if moves > budget:
            return -1
    return moves


def argsort_warm(
    const double[::1] keys, int32_t[::1] order, double[::1] work, Py_ssize_t budget
):
    """Turn order, any permutation of the rows, into what argsort gives, by insertion.

    Gives the number of moves, or -1 once they exceed budget or run well ahead of it: order is then
    some permutation, for argsort to finish. Pays below about 0.3 n moves. work: (n,) scratch.
    """
    cdef Py_ssize_t n = keys.shape[0], moves
    require_length(order.shape[0], n, "order")
    require_length(work.shape[0], n, "work")
    if n == 0:
        return 0
    with nogil:
        moves = argsort_warm_core(&keys[0], &order[0], n, &work[0], budget)
    return moves


def sort_rows(
    const double[::1] keys, int32_t[::1] order, uint64_t[::1] work_a, uint64_t[::1] work_b
):
    """argsort that starts from order, any permutation of the rows, and gives up if it is too far.

    Gives the moves made, or -1 if the rows were sorted afresh; the result is the same.
    """
    cdef Py_ssize_t n = keys.shape[0], moves
    require_length(order.shape[0], n, "order")
    require_length(work_a.shape[0], n, "work_a")
    require_length(work_b.shape[0], n, "work_b")
    if n == 0:
        return 0
    with nogil:
        moves = argsort_warm_core(&keys[0], &order[0], n, <double *>&work_a[0], 3 * n // 10)
        if moves < 0:
            argsort_core(&keys[0], &order[0], n, &work_a[0], &work_b[0])
    return moves


def count_rank_changes(const int32_t[::1] order_a, const int32_t[::1] order_b):
    """How many rows hold different ranks in two orders of the same rows."""
    cdef Py_ssize_t i, n = order_a.shape[0], changes = 0
    require_length(order_b.shape[0], n, "order_b")
    with nogil:
        for i in range(n):
            changes += order_a[i] != order_b[i]
    return changes
