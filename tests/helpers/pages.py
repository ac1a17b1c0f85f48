"""Pages as trees, and what every page must keep."""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np

from lrisk_cli.reports.html import (
    MAX_BYTES,
)

VOID = {"meta", "br", "hr", "img", "input", "link"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, *tags: str) -> "Iterator[Element]":
        for child in self.children:
            if not tags or child.tag in tags:
                yield child
            yield from child.all(*tags)


class Reader(HTMLParser):
    """A page as a tree; unbalanced tags are an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(text)
        assert [element.tag for element in self._open] == [""]

    def handle_starttag(self, tag, attrs):
        assert len(attrs) == len(dict(attrs)), f"{tag}: an attribute stands twice"
        element = Element(tag, dict(attrs))
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self._open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop().tag == tag

    def handle_data(self, data):
        for element in self._open:
            element.text += data


def read(text: str) -> Element:
    return Reader(text).root


def check_page(text: str) -> Element:
    """What every page must keep."""
    root = read(text)
    assert len(text.encode()) <= MAX_BYTES
    assert "://" not in text
    assert (
        list(root.all("script", "link", "img", "iframe", "object", "embed", "base", "form")) == []
    )
    for element in root.all():
        assert "style" not in element.attributes, element
        assert not [name for name in element.attributes if name.startswith("on")]
        for name in ("href", "src", "action", "xlink:href"):
            assert (element.attributes.get(name) or "#").startswith("#"), element
        assert not [name for name in element.attributes if name.startswith("xmlns")]
    ids = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    check_policy(root)
    check_figures(root, ids)
    return root


def check_policy(root: Element) -> None:
    """The style sheet is the only thing that the page allows, and by its hash."""
    (policy,) = [
        meta.attributes["content"]
        for meta in root.all("meta")
        if meta.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    (style,) = root.all("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style.text
    assert "@import" not in style.text


def pixels(svg: Element, shape: tuple[int, int]) -> np.ndarray:
    """The ink of each pixel of a picture, from its outlines."""
    assert svg.attributes["viewbox"] == f"0 0 {shape[1]} {shape[0]}"
    ink = np.zeros(shape)
    for path in svg.all("path"):
        outline = path.attributes["d"] or ""
        runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", outline)
        assert "".join(f"M{x} {y}h{n}v1h-{back}z" for x, y, n, back in runs) == outline
        for x, y, n, back in runs:
            assert n == back
            ink[int(y), int(x) : int(x) + int(n)] += float(path.attributes["fill-opacity"] or 0.0)
    return ink


def check_figures(root: Element, ids: list[str]) -> None:
    """Drawings have a title and a text, found by id; colours are names; references resolve."""
    for drawing in root.all("svg"):
        for element in (drawing, *drawing.all()):
            for name in ("fill", "stroke"):
                color = element.attributes.get(name, "none")
                assert color == "none", f"a colour that the style sheet cannot change: {color}"
    for figure in root.all("figure"):
        assert any(caption.text.strip() for caption in figure.all("figcaption"))
        (svg,) = [svg for svg in figure.all("svg") if svg.attributes.get("role") == "img"]
        words = {label.attributes["id"]: label.text for label in svg.all("title", "desc")}
        assert words[svg.attributes["aria-labelledby"]].strip()
        assert words[svg.attributes["aria-describedby"]].strip()
        for element in svg.all():
            for name, value in element.attributes.items():
                assert value is not None
                for reference in re.findall(
                    r"(?:url\(|^)#([\w.-]+)", value if name != "id" else ""
                ):
                    assert reference in ids
