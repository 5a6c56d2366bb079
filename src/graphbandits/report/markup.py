"""HTML from text that is not trusted: whatever is not HTML already is escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

#: Elements that have no end tag.
VOID = frozenset({"img", "input", "link", "meta", "source"})


class Html(str):
    """Text that is HTML already and goes into the page as it is."""

    __slots__ = ()


def escape(text: object) -> Html:
    """Text as HTML; HTML stays what it is.

    >>> escape("a<b"), escape(Html("<b>"))
    ('a&lt;b', '<b>')
    """
    if isinstance(text, Html):
        return text
    # half a surrogate pair can stand in a name but not in a file
    return Html(html.escape(str(text).encode("utf-8", "replace").decode("utf-8")))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element; ``class_`` is class, ``data_x`` is data-x, True is bare, None is left out.

    >>> print(tag("td", "<1>", class_="number", title=None))
    <td class="number">&lt;1&gt;</td>
    """
    parts = [name]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(attribute)
        elif value is not None and value is not False:
            parts.append(f'{attribute}="{escape(value)}"')
    start = f"<{' '.join(parts)}>"
    if name in VOID:
        return Html(start)
    return Html(f"{start}{join(children)}</{name}>")


def join(children: Iterable[object], between: str = "") -> Html:
    """Children one after the other."""
    return Html(between.join(escape(child) for child in children))


def raw_element(name: str, content: str, /, **attributes: object) -> Html:
    """A script or style, whose content is not escaped and so must not hold its end tag."""
    if f"</{name}" in content.lower():
        raise ValueError(f"the content of <{name}> holds its own end tag")
    return tag(name, Html(content), **attributes)


def json_script(value: Any) -> Html:
    """Data for the page's script; in JSON ``<`` can be spelt so that no tag can end it.

    >>> print(json_script({"name": "</script>"}))
    <script type="application/json">{"name":"\\u003c/script>"}</script>
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return raw_element("script", text, type="application/json")


def label(content: object) -> Html:
    """A name in a table: on one line while it is short."""
    return tag("span", content, class_="label")


def table(
    caption: object,
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    words: Sequence[int] = (),
    class_: str | None = None,
) -> Html:
    """A table that scrolls within itself; the first cell of a row names it.

    Cells are numbers, to the right, but for the columns in ``words``. A cell may be a ``td``
    element already.
    """

    def kind(column: int) -> str | None:
        return None if column in words else "number"

    def cell(column: int, content: object) -> Html:
        if isinstance(content, Html) and content.startswith("<td"):
            return content
        return tag("td", content, class_=kind(column))

    top = [
        tag("th", label(title), scope="col", class_=kind(i) if i else None)
        for i, title in enumerate(head)
    ]
    body = [
        tag(
            "tr",
            tag("th", label(row[0]), scope="row"),
            *(cell(i, c) for i, c in enumerate(row) if i),
        )
        for row in rows
    ]
    inside = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", tag("tr", *top)),
        "\n",
        tag("tbody", join(body, "\n")),
        class_=class_,
    )
    # focusable, so that the keyboard can scroll it
    return tag("div", inside, class_="scroll", tabindex="0")
