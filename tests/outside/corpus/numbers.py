"""Texts of numbers: each must be the nearest double, and what is no number must be refused."""

import random
import struct
from collections.abc import Iterator
from fractions import Fraction

from outside.corpus.base import base_with, with_column
from outside.corpus.case import Case, Refused

LARGEST = 1.7976931348623157e308
SMALLEST = 5e-324


def cases() -> Iterator[Case]:
    """Notations, hard roundings, random ones, and texts that are not finite numbers."""
    for name, texts in {**_notations(), **_roundings()}.items():
        yield _column(name, texts)
    for seed in range(6):
        yield _column(f"random-digits-{seed}", _random_digits(seed))
        yield _column(f"random-doubles-{seed}", _random_doubles(seed))
        yield _column(f"random-halfway-{seed}", _random_halfway(seed))
    yield from _strays()
    yield from _decimal_commas()


def _column(name: str, texts: list[str]) -> Case:
    """A table of one column of numbers, which Python rounds correctly."""
    text = "x\n" + "".join(f"{each}\n" for each in texts)
    return Case(f"{name}.csv", text.encode(), {"x": [float(each) for each in texts]})


def _notations() -> dict[str, list[str]]:
    return {
        "integers": ["0", "1", "-1", "42", "-2147483648", "4294967295", "9007199254740993"],
        "signs": ["+1", "-1", "+0.5", "-0.5", "+1e5", "-0", "+0", "-0.0"],
        "points": ["5.", ".5", "-.5", "+5.", "0.", ".0", "5.e3", ".5e3"],
        "exponents": ["1e5", "1E5", "1e+5", "1E-5", "1e05", "1e-00005", "1e0", "0e0", "0e99999"],
        "long-exponents": ["1e00000000000000000001", "1e-00000000000000000300", "0e-9999999999"],
        "zeros-before": ["0.5", "0.000001", "0." + "0" * 300 + "1", "0." + "0" * 340 + "1"],
        "zeros-after": ["1.0", "1.50", "1." + "0" * 400, "2." + "0" * 40 + "5", "100" + "0" * 200],
        "big-integers": [
            "9223372036854775807", "9223372036854775808", "18446744073709551615",
            "18446744073709551616", "-9223372036854775809", "1" + "0" * 22, "1" + "0" * 23,
            "9" * 30, "1" + "0" * 308,
        ],
        "money": ["0.10", "0.20", "0.30", "19.99", "1003.858", "1.90", "0.07", "1234567.89"],
    }  # fmt: skip


def _roundings() -> dict[str, list[str]]:
    """Strings on which parsers of numbers have failed, by their nature."""
    return {
        "halfway-to-even": [
            "9007199254740993", "9007199254740995", "1.00000000000000011102230246251565404",
            "1.00000000000000011102230246251565404236316680908203125",
            "1.00000000000000011102230246251565404236316680908203124",
            "1.00000000000000011102230246251565404236316680908203126",
            "1.00000000000000033306690738754696212708950042724609375",
        ],
        "largest": [
            "1.7976931348623157e308", "1.7976931348623158e308", "17976931348623157" + "0" * 292,
            "-1.7976931348623157e308", "1.797693134862315700000000000001e308",
            "179769313486231580793728971405301e276",
        ],
        "smallest": [
            "2.2250738585072014e-308", "2.2250738585072011e-308", "2.225073858507201e-308",
            "4.9406564584124654e-324", "5e-324", "3e-324", "2.4703282292062328e-324",
            "2.4703282292062327e-324", "1e-323", "2.2250738585072012e-308",
        ],
        "to-zero": ["1e-324", "1e-400", "-1e-400", "1e-99999", "2e-324", "0.1e-330"],
        "clinger": ["1e22", "1e23", "8.5e22", "1.2345e30", "123456789012345e8", "3e-23"],
        "nineteen-digits": [
            "1234567890123456789", "0.1234567890123456789", "12345678901234567890e-10",
            "7.2057594037927933e16", "7.2057594037927945e16", "9355950000000000000.00000000000000",
        ],
        "hundreds-of-digits": [
            "0." + "1" * 800, "3." + "14159265358979" * 60, "1" * 300, "0." + "0" * 100 + "7" * 700,
            "2.22507385850720138309023271733240406421921598046233e-308",
            "6.9294956446009195e15", "6250" + "0" * 100 + "e-100", "1" + "0" * 700 + "e-700",
        ],
        "famous": [
            "2.2250738585072012e-308", "1.448997445238699", "0.500000000000000166533453693773481",
            "3.518437208883201171875e13", "62.5364939768271845828", "8.10109172351e-10",
            "1.50000000000000011102230246251565", "30078505129381147446200",
            "1777820000000000000001", "0.500000000000000166547006220929549868969843373633921146",
        ],
    }  # fmt: skip


def _random_digits(seed: int) -> list[str]:
    chance = random.Random(seed)
    texts = []
    for _ in range(400):
        whole = str(chance.randrange(1, 10 ** chance.randrange(1, 25)))
        part = "".join(chance.choice("0123456789") for _ in range(chance.randrange(0, 25)))
        power = f"e{chance.randrange(-330, 280)}" if chance.random() < 0.6 else ""
        texts.append(f"{chance.choice(['', '-', '+'])}{whole}.{part}{power}")
    return [text for text in texts if abs(float(text)) <= LARGEST]


def _random_doubles(seed: int) -> list[str]:
    """Doubles of any bits, with 15 to 20 digits: not all of them read back."""
    chance = random.Random(100 + seed)
    doubles = [struct.unpack("<d", chance.randbytes(8))[0] for _ in range(400)]
    finite = [number for number in doubles if abs(number) < 1e308]
    return [f"{number:.{chance.randrange(14, 20)}e}" for number in finite]


def _random_halfway(seed: int) -> list[str]:
    """The exact middle of two neighbouring doubles, and its neighbours in the last digit."""
    chance = random.Random(200 + seed)
    texts = []
    for _ in range(60):
        mantissa, power = chance.randrange(1 << 52, 1 << 53), chance.randrange(-120, 120)
        middle = Fraction(2 * mantissa + 1, 2) * Fraction(2) ** power
        digits = max(0, 1 - power)  # a fraction over 2^k has k decimals
        scaled = middle * 10**digits
        assert scaled.denominator == 1
        for shift in (-1, 0, 1):
            whole = str(scaled.numerator * 10 + shift)
            texts.append(f"{whole}e-{digits + 1}")
    return texts


def _strays() -> Iterator[Case]:
    """One cell among numbers that is no number, or no finite one: a sentence names it."""
    strays = {
        "na": "n/a", "NA": "NA", "null": "null", "none": "None", "question": "?", "dash": "-",
        "hexadecimal": "0x10", "hex-float": "0x1.8p3", "underscore": "1_000", "two-points": "1.2.3",
        "half-exponent": "1e", "only-exponent": "e5", "two-signs": "+-3", "percent": "12%",
        "arabic-digit": "\u0663", "wide-digits": "\uff11\uff12", "two-currencies": "$5 €",
        "open-bracket": "(5", "space-inside": "1 2", "true": "true", "date": "2020-01-01",
        "error": "#REF!", "fortran": "1d5", "half": "½", "infinity-sign": "∞",
        "apostrophe": "'5", "decimal-comma": '"1,5"', "suffix": "5f",
        "binary": "0b11", "fraction": "1/2", "letter": "x", "nan-with-code": "nan(1)",
    }  # fmt: skip
    for name, cell in strays.items():
        cells = ["1.5", "2", "-3", "4", "5", cell, "7", "8", "9", "10", "11", "12"]
        yield Case(f"stray-{name}.csv", with_column(cells).encode(), Refused("row 5"))
    dressed = {
        "dollar": ("$5", 5.0), "euro": ("5 €", 5.0), "brackets": ("(5)", -5.0),
        "minus": ("\u22125", -5.0), "thousands": ('"1,000"', 1000.0), "indian": ('"1,00,000"', 1e5),
    }  # fmt: skip
    for name, (cell, number) in dressed.items():
        expected = base_with([1.5, number, 3.0])
        yield Case(f"dressed-{name}.csv", with_column(["1.5", cell, "3"]).encode(), expected)
    for name, cell in {
        "inf": "inf", "minus-inf": "-inf", "infinity": "Infinity", "overflow": "1e309",
        "far-overflow": "1e999", "minus-overflow": "-1e400", "digits": "1" + "0" * 309,
    }.items():  # fmt: skip
        cells = ["1.5", "2", "-3", "4", "5", cell, "7", "8", "9", "10", "11", "12"]
        yield Case(f"infinite-{name}.csv", with_column(cells).encode(), Refused("row 5"))
    for name, cell in {"nan": "nan", "NaN": "NaN", "minus": "-nan", "plus": "+NAN"}.items():
        expected = base_with([1.5, None, 3.0])
        yield Case(f"missing-{name}.csv", with_column(["1.5", cell, "3"]).encode(), expected)


def _decimal_commas() -> Iterator[Case]:
    comma = {"decimal": ","}
    text = "x;y\n1,5;2\n-0,25;3\n1e3;4,0\n,5;5\n"
    expected = {"x": [1.5, -0.25, 1000.0, 0.5], "y": [2.0, 3.0, 4.0, 5.0]}
    yield Case("decimal-comma.csv", text.encode(), expected, comma)
    quoted = 'x,y\n"1,5",2\n"-0,25",3\n"7",4\n'
    expected = {"x": [1.5, -0.25, 7.0], "y": [2.0, 3.0, 4.0]}
    yield Case("decimal-comma-quoted.csv", quoted.encode(), expected, comma)
    points = "x;y\n1,5;2\n2,5;3\n1.234,5;4\n"
    expected = {"x": [1.5, 2.5, 1234.5], "y": [2.0, 3.0, 4.0]}
    yield Case("decimal-comma-with-thousands.csv", points.encode(), expected, comma)
    refused = Refused("'1.234,5' is not a number")
    yield Case(
        "decimal-comma-no-thousands.csv", points.encode(), refused, {**comma, "thousands": "none"}
    )
    point = "x;y\n1,5;2\n2,5;3\n1.5;4\n"
    yield Case("decimal-comma-and-point.csv", point.encode(), Refused("'1.5'"), comma)
    unasked = {"x": [1.5, -0.25], "y": [2.0, 3.0]}
    yield Case("decimal-comma-unasked.csv", b"x;y\n1,5;2\n-0,25;3\n", unasked)
    yield Case("decimal-semicolon.csv", text.encode(), Refused("decimal", 2), {"decimal": ";"})
    thousands = {"x": ["1,000", "2,500"], "y": [1.0, 2.0]}
    yield Case("thousands.csv", b'x,y\n"1,000",1\n"2,500",2\n', thousands)
