"""What a type hint expects, in words and by an example: both are read from its JSON schema."""

import math
from typing import Any

from llp.errors import choice, plain

JsonSchema = dict[str, Any]

_NUMBERS = (0.1, 1.0, 0.0, -1.0)  # examples that are tried in this order


def in_words(schema: JsonSchema) -> str:
    """What a schema expects.

    >>> in_words({"type": "integer", "minimum": 0})
    'an integer >= 0'
    """
    if schema.get("type") == "object" or "discriminator" in schema:  # whose description is a docstring
        return "a group of options"
    if "description" in schema:
        return str(schema["description"])
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return choice([plain(value) for value in values])
    if "anyOf" in schema:
        return choice([in_words(one) for one in schema["anyOf"]])
    match schema.get("type"):
        case "null" | None:
            return "null" if schema else "a value"
        case "boolean":
            return "true or false"
        case "string":
            return "a text"
        case "integer":
            return f"an integer{_bounds(schema)}"
        case "number":
            return f"a number{_bounds(schema)}"
        case "array":
            return _list_in_words(schema)
        case other:
            return f"a value of type {other}"


def _bounds(schema: JsonSchema) -> str:
    if "minimum" in schema and "maximum" in schema:
        return f" from {schema['minimum']:g} to {schema['maximum']:g}"
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[name]:g}" for name, sign in signs.items() if name in schema]
    return " " + " and ".join(bounds) if bounds else ""


def _list_in_words(schema: JsonSchema) -> str:
    if "prefixItems" in schema:
        return f"a list of {len(schema['prefixItems'])}: {', '.join(map(in_words, schema['prefixItems']))}"
    least = " that is not empty" if schema.get("minItems") else ""
    return f"a list{least}, each of it {in_words(schema.get('items', {}))}"


def example_of(schema: JsonSchema) -> Any:
    """A value that the schema accepts; Ellipsis where none can be told.

    >>> example_of({"type": "number", "exclusiveMinimum": 0, "maximum": 1})
    0.1
    """
    if "examples" in schema:
        return schema["examples"][0]
    if "const" in schema or "enum" in schema:
        return schema.get("enum", [schema.get("const")])[0]
    if "anyOf" in schema:
        return next((example_of(one) for one in schema["anyOf"] if one.get("type") != "null"), None)
    match schema.get("type"):
        case "boolean":
            return True
        case "string":
            return "NAME"
        case "integer":
            return _integer(schema)
        case "number":
            return next((number for number in _NUMBERS if _within(number, schema)), ...)
        case "object":
            named = {name: example_of(schema["properties"][name]) for name in schema.get("required", ())}
            return ... if ... in named.values() else named
        case "array":
            items = schema.get("prefixItems") or [schema.get("items", {})]
            examples = [example_of(item) for item in items]
            return ... if ... in examples else examples
        case _:
            return ...


def _integer(schema: JsonSchema) -> int:
    if "exclusiveMinimum" in schema:
        return int(schema["exclusiveMinimum"]) + 1
    bounds = [schema[name] for name in ("minimum", "maximum") if name in schema]
    return int(bounds[0]) if bounds else 1


def _within(number: float, schema: JsonSchema) -> bool:
    low, high = schema.get("minimum", number), schema.get("maximum", number)
    above, below = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    return bool(low <= number <= high and above < number < below)
