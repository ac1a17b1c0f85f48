"""Clean a drawing for a page: no styles of its own, no addresses, colours by name."""

import re
from xml.etree import ElementTree

# Colours that only this program uses, and the names under which the page's style sheet knows
# them: so one drawing serves light, dark and paper.
SERIES = tuple(f"#05000{k}" for k in range(8))
INK, MUTED, RULE = "#010101", "#020202", "#030303"
NAMES = {INK: "ink", MUTED: "muted", RULE: "rule"} | {
    color: f"s{k}" for k, color in enumerate(SERIES)
}
_KEPT = {
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap",
    "stroke-linejoin", "stroke-opacity", "fill-opacity", "opacity", "font-size", "text-anchor",
}  # fmt: skip
_COORDINATES = {"d", "x", "y", "width", "height", "transform", "points", "viewBox"}
_NUMBER = re.compile(r"-?\d+\.\d+")
_REFERENCE = re.compile(r"#([\w.-]+)")


def clean_svg(text: str, prefix: str, title: str, description: str) -> str:
    """The drawing as one element for a page.

    Styles become attributes, since a strict page forbids styles; known colours become classes;
    coordinates keep two decimals; ids begin with the prefix, so that drawings do not clash.
    """
    root = ElementTree.fromstring(text)  # noqa: S314 - drawn by this program
    for element in list(root.iter()):
        element.tag = _local(element.tag)
        for child in list(element):
            if _local(child.tag) in ("metadata", "style"):
                element.remove(child)
        _clean_element(element, prefix)
    _drop_unused_ids(root, prefix)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-labelledby": f"{prefix}title",
        "aria-describedby": f"{prefix}text",
    }
    for position, (tag, name, words) in enumerate(
        (("title", "title", title), ("desc", "text", description))
    ):
        label = ElementTree.Element(tag, {"id": f"{prefix}{name}"})
        label.text = words
        root.insert(position, label)
    for element in root.iter():
        if element.tag not in ("text", "title", "desc"):
            element.text = None
        element.tail = None
    return ElementTree.tostring(root, encoding="unicode")


def _clean_element(element: ElementTree.Element, prefix: str) -> None:
    attributes = {_local(name): value for name, value in element.attrib.items()}
    attributes |= _styles(attributes.pop("style", ""))
    named = {name: NAMES.get(attributes.get(name, "").lower()) for name in ("fill", "stroke")}
    classes = [f"{name}-{color}" for name, color in named.items() if color]
    element.attrib = {
        name: _clean_value(name, value, prefix)
        for name, value in attributes.items()
        if not named.get(name) and not value.startswith("rotate(-0 ")
    }
    if classes:
        element.attrib["class"] = " ".join(classes)


def _styles(text: str) -> dict[str, str]:
    """The declarations of a style that a drawing needs, as attributes."""
    pairs = (part.partition(":") for part in text.split(";") if part.strip())
    styles = {name.strip(): value.strip() for name, _, value in pairs}
    if "font" in styles:
        styles["font-size"] = styles["font"].split()[0]
    return {name: value for name, value in styles.items() if name in _KEPT}


def _clean_value(name: str, value: str, prefix: str) -> str:
    if name in _COORDINATES:
        return " ".join(_NUMBER.sub(_round, value).split())
    if name == "id":
        return prefix + value
    if name == "href" or value.startswith("url(#"):
        return _REFERENCE.sub(lambda match: f"#{prefix}{match[1]}", value)
    return value


def _drop_unused_ids(root: ElementTree.Element, prefix: str) -> None:
    """Groups are numbered for no reader."""
    values = " ".join(
        value for element in root.iter() for name, value in element.attrib.items() if name != "id"
    )
    used = {match[1] for match in _REFERENCE.finditer(values)}
    for element in root.iter():
        if element.attrib.get("id", prefix) not in used:
            element.attrib.pop("id", None)


def _local(name: str) -> str:
    """A name without its namespace, which a page supplies."""
    return name.rpartition("}")[2]


def _round(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
