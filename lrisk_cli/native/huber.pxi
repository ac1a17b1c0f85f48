# Huber's loss of a number: quadratic up to an error of delta, linear beyond.

cdef inline double huber_loss(double z, double y, double delta) noexcept nogil:
    """d^2/2 for d = |z - y| <= delta, else delta (d - delta/2): nothing cancels, as d > delta."""
    cdef double d = fabs(z - y)
    return 0.5 * d * d if d <= delta else delta * (d - 0.5 * delta)


cdef inline double huber_derivative(double z, double y, double delta) noexcept nogil:
    """z - y, cut off at -delta and delta."""
    cdef double d = z - y
    if d > delta:
        return delta
    return -delta if d < -delta else d


def huber_losses(const double[::1] z, const double[::1] y, double delta, double[::1] out):
    """out = Huber's loss of z - y."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = huber_loss(z[i], y[i], delta)


def huber_derivatives(const double[::1] z, const double[::1] y, double delta, double[::1] out):
    """out = its derivative in z."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = huber_derivative(z[i], y[i], delta)
