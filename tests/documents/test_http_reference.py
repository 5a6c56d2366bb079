"""docs/http-reference.md is made from the description of the service (OpenAPI)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from graphbandits.service.app import create_app
from graphbandits.service.server import Settings

PAGE = Path(__file__).parents[2] / "docs" / "http-reference.md"
HEAD = """# HTTP reference

The routes of the [service](service.md). `/openapi.json` has the same with schemas. Keys in bold are
required. The [protocol](agent-protocol.md#requests) and the [parameters](agent.md#parameters) of an
agent explain the keys of bodies.
"""


def with_text(name: str, text: str) -> str:
    return f"{name} ({text})" if text else name


def keys_of(form: dict[str, Any]) -> str:
    """Return the keys of an object, each with its description or its own keys."""
    parts = []
    for key, value in form.get("properties", {}).items():
        inner = value.get("items", value).get("properties", ())
        text = value.get("description") or ", ".join(f"`{one}`" for one in inner)
        parts.append(with_text(f"**`{key}`**" if key in form["required"] else f"`{key}`", text))
    return ", ".join(parts)


def body_of(form: dict[str, Any]) -> str:
    """Return the keys of a body; the operation of an event comes first."""
    properties = dict(form["properties"])
    op = properties.pop("op", {}).get("const")
    keys = keys_of(form | {"properties": properties})
    return ", ".join(filter(None, [op and f'`"op": "{op}"`', keys]))


def answer_of(content: dict[str, Any]) -> str:
    if "application/json" not in content:
        return ", ".join(f"`{kind}`" for kind in content)
    return keys_of(content["application/json"]["schema"] | {"required": ()}) or "an object"


def parameter_of(parameter: dict[str, Any]) -> str:
    form = parameter["schema"]
    default = form.get("default")
    name = parameter["name"] + (f"={default}".lower() if default else "")
    text = parameter.get("description") or " or ".join(form.get("enum", ()))
    return with_text(f"`{name}`", text)


def section_of(method: str, path: str, operation: dict[str, Any]) -> str:
    role = "".join(role for one in operation["security"] for role in one["token"])
    about = " ".join(operation["description"].split())
    lines = [f"### `{method.upper()} {path}`", "", f"{about} Role: {role or 'none'}.", ""]
    for place, title in (("query", "Parameters"), ("header", "Header")):
        listed = [one for one in operation.get("parameters", ()) if one["in"] == place]
        if listed:
            lines.append(f"- {title}: {', '.join(map(parameter_of, listed))}")
    if "requestBody" in operation:
        form = operation["requestBody"]["content"]["application/json"]["schema"]
        lines += [f"- Body: {body_of(one)}" for one in form.get("oneOf", [form])]
    answer = answer_of(operation["responses"]["200"]["content"])
    return "\n".join([*lines, f"- Answer: {answer}", ""])


def test_the_reference_is_that_of_the_service() -> None:
    """Write the page again if ``UPDATE_DOCUMENTS`` is set."""
    sections = [
        section_of(method, path, operation)
        for path, methods in create_app(Settings("agents.db")).openapi()["paths"].items()
        for method, operation in methods.items()
    ]
    text = "\n".join([HEAD, *sections]).replace("``", "`")
    if os.environ.get("UPDATE_DOCUMENTS"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "run the test again with UPDATE_DOCUMENTS=1"
