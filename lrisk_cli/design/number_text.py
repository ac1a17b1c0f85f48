"""Numbers, fractions and texts -> words of a sentence."""

from math import exp, floor, isfinite, log10

_LONGEST = 40


def spell(value: float, digits: int = 4) -> str:
    """A number to read: so many digits, thousands set apart from ten thousand on."""
    if value == 0.0 or not isfinite(value):
        return f"{value + 0.0:g}"
    size = floor(log10(abs(value)))
    if not -5 <= size < 15:
        return f"{value:.{digits}g}"
    places = digits - 1 - size
    rounded = round(value, places)
    comma = "," if abs(rounded) >= 10_000.0 else ""
    text = f"{rounded:{comma}.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def spell_cell(value: float) -> str:
    """A number of the file: all its whole digits, six digits at least."""
    whole = len(f"{abs(value):.0f}") if abs(value) < 1e15 else 0
    return spell(value, max(6, whole))


def spell_count(value: float) -> str:
    """A number that matters by its size only."""
    return spell(value, 2)


def spell_effect(value: float) -> str:
    """What a feature does to a predicted number."""
    return f"adds {spell(value, 3)}" if value >= 0.0 else f"takes off {spell(-value, 3)}"


def spell_factor(value: float, what: str = "mean") -> str:
    """What a feature does to a mean, of which the logarithm grows by `value`."""
    return f"multiplies the {what} by {spell(exp(min(value, 700.0)), 3)}"


def spell_odds(value: float) -> str:
    """What a feature does to odds, of which the logarithm grows by `value`."""
    return f"multiplies the odds by {spell(exp(min(value, 700.0)), 2)}"


def percent(fraction: float) -> str:
    """Three digits; never 100 % of what is not all."""
    if 0.9995 <= fraction < 1.0:
        return "over 99.9 %"
    return f"{100.0 * fraction:.3g} %"


def clipped(text: str) -> str:
    """A cell of text, cut where it is long."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
