"""Rows of the benchmarks of clusters."""


def row(
    what: str, value: float, unit: str, bound: str, reached: bool | None, detail: str
) -> dict[str, object]:
    """One line of the results; reached is None if there is no bound."""
    return {
        "what": what, "value": value, "unit": unit, "bound": bound, "reached": reached,
        "detail": detail,
    }  # fmt: skip
