"""The schemas of files, and as much of JSON Schema as they use; members that are met are noted."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

FORMATS = Path(__file__).parents[1] / "docs" / "formats"
KINDS = sorted(path.stem.removesuffix("-1") for path in FORMATS.glob("*-1.json"))
KINDS.remove("common")

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_WORDS = {
    *("$defs", "$id", "$ref", "$schema", "description", "title", "x-arrays", "x-columns"),
    *("additionalProperties", "anyOf", "const", "enum", "items", "maxItems", "maximum", "minItems"),
    *("minimum", "oneOf", "pattern", "prefixItems", "properties", "required", "type"),
}


@cache
def schema(name: str) -> dict[str, Any]:
    """Read a schema by the name of its file."""
    read: dict[str, Any] = json.loads((FORMATS / name).read_text(encoding="utf-8"))
    return read


def faults(value: object, kind: str, met: set[str] | None = None) -> list[str]:
    """Say what a record has that its schema does not allow, and note the members that were met."""
    return _faults(value, f"{kind}-1.json", "", "record", set() if met is None else met)


def named(name: str) -> set[str]:
    """List the members that a schema names, as places in its file."""
    found: set[str] = set()

    def walk(part: object, at: str) -> None:
        if isinstance(part, dict):
            found.update(
                f"{name}#{at}/properties/{one}"
                for one in part.get("properties", ())
                if isinstance(part.get("properties"), dict)
            )
        inside = (
            part.items()
            if isinstance(part, dict)
            else enumerate(part)
            if isinstance(part, list)
            else ()
        )
        for key, one in inside:
            walk(one, f"{at}/{key}")

    walk(schema(name), "")
    return found


def _at(name: str, place: str) -> Any:
    part: Any = schema(name)
    for key in place.split("/")[1:]:
        part = part[int(key)] if isinstance(part, list) else part[key]
    return part


def _faults(value: object, name: str, place: str, where: str, met: set[str]) -> list[str]:  # noqa: C901, PLR0912 - a line for each word
    part = _at(name, place)
    assert part.keys() <= _WORDS, f"{name}{place}: {part.keys() - _WORDS}"
    found: list[str] = []
    if "$ref" in part:
        file, _, inner = part["$ref"].partition("#")
        found += _faults(value, file or name, inner, where, met)
    if "const" in part and (value != part["const"] or type(value) is not type(part["const"])):
        found.append(f"{where}: not {part['const']!r}")
    if "enum" in part and value not in part["enum"]:
        found.append(f"{where}: none of {part['enum']}")
    for word in ("anyOf", "oneOf"):
        if word in part:
            tried = []
            for at in range(len(part[word])):
                seen: set[str] = set()
                tried.append(_faults(value, name, f"{place}/{word}/{at}", where, seen))
                if not tried[-1]:
                    met |= seen
            right = sum(not each for each in tried)
            if right < 1 or (word == "oneOf" and right > 1):
                found.append(f"{where}: fits {right} of {word}: {min(tried, key=len)}")
    kind = part.get("type")
    if kind is not None and (
        not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")
    ):
        return [*found, f"{where}: no {kind}"]
    if isinstance(value, str) and not re.search(part.get("pattern", ""), value):
        found.append(f"{where}: {value!r} is not {part['pattern']}")
    if isinstance(value, int) and not part.get("minimum", value) <= value <= part.get(
        "maximum", value
    ):
        found.append(f"{where}: {value} out of range")
    if isinstance(value, list) and kind == "array":
        if not part.get("minItems", 0) <= len(value) <= part.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items")
        for at, one in enumerate(value):
            first = at < len(part.get("prefixItems", ()))
            if first or "items" in part:
                inner = f"{place}/prefixItems/{at}" if first else f"{place}/items"
                found += _faults(one, name, inner, f"{where}[{at}]", met)
    if isinstance(value, dict) and kind == "object":
        known = part.get("properties", {})
        found += [f"{where}: no {key}" for key in part.get("required", ()) if key not in value]
        others = part.get("additionalProperties", True)
        for key, one in value.items():
            if key in known:
                met.add(f"{name}#{place}/properties/{key}")
                found += _faults(one, name, f"{place}/properties/{key}", f"{where}.{key}", met)
            elif others is False:
                found.append(f"{where}: {key} is not named")
            elif isinstance(others, dict):
                found += _faults(one, name, f"{place}/additionalProperties", f"{where}.{key}", met)
    return found
