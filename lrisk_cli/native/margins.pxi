# Any loss of one margin by its code: what the stochastic epochs step along.

cdef enum:
    SQUARED = 0
    BINARY = 1
    MULTINOMIAL = 2
    HUBER = 3
    POISSON = 4
    PINBALL = 5


cdef inline double margin_loss(
    int loss, double parameter, double z, const double *y
) noexcept nogil:
    """Loss of one row with one margin; y: what stands for its target."""
    if loss == SQUARED:
        return 0.5 * (y[0] - z) * (y[0] - z)
    if loss == BINARY:
        return binary_loss(z, y[0])
    if loss == HUBER:
        return huber_loss(z, y[0], parameter)
    if loss == PINBALL:
        return pinball_loss(z, y[0], parameter)
    return poisson_loss(z, y)


cdef inline double margin_derivative(
    int loss, double parameter, double z, const double *y
) noexcept nogil:
    """Its derivative in the margin."""
    if loss == SQUARED:
        return z - y[0]
    if loss == BINARY:
        return sigmoid(z) - y[0]
    if loss == HUBER:
        return huber_derivative(z, y[0], parameter)
    if loss == PINBALL:
        return pinball_derivative(z, y[0], parameter)
    return poisson_derivative(z, y)
