"""Parses the page as a browser does: its elements, its text, its tables, and the data of its tables."""

import base64
import gzip
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

_WITHOUT_END = {"meta", "input", "link", "img", "br", "path", "rect"}


@dataclass
class Element:
    """An element with its attributes and its text."""

    name: str
    attributes: dict[str, str | None]
    text: str = ""
    children: "list[Element]" = field(default_factory=list)

    def all(self, name: str) -> "list[Element]":
        """Return every element of this name inside this element."""
        inner = [one for child in self.children for one in child.all(name)]
        return [*([self] if self.name == name else []), *inner]


class Page(HTMLParser):
    """The page's elements; every opened element must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("page", {})
        self._open = [self.root]
        self.feed(html)
        self.close()
        assert self._open == [self.root], [one.name for one in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self._open[-1].children.append(element)
        if tag not in _WITHOUT_END:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].name == tag, (tag, [one.name for one in self._open])
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, name: str) -> list[Element]:
        """Return every element of this name."""
        return self.root.all(name)

    def with_id(self, name: str) -> Element:
        """Return the element with this id."""
        (element,) = [one for one in self._every(self.root) if one.attributes.get("id") == name]
        return element

    def _every(self, element: Element) -> list[Element]:
        return [element, *(one for child in element.children for one in self._every(child))]


def rows_of(table: Element) -> list[list[str]]:
    """Return the cells of a table's body, as text."""
    (body,) = table.all("tbody")
    return [[cell.text.strip() for cell in row.children] for row in body.all("tr")]


def data_of(table: Element) -> dict[str, Any]:
    """Return the data of a table for the script."""
    (script,) = table.all("script")
    if script.attributes["type"] == "application/json":
        return json.loads(script.text)
    return json.loads(gzip.decompress(base64.b64decode(script.text)))
