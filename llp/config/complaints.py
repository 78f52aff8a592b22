"""Errors for wrong values, in one line: pydantic's place and input, and all that the type takes, with an example."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from llp.errors import InputError, choice, invalid, missing, plain

LIMITS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
NOUNS = {"integer": "an integer", "number": "a number", "string": "a text", "array": "a list", "null": "null"}

JsonSchema = Mapping[str, Any]
"""A type in JSON Schema, by pydantic."""


def like(pattern: str, words: str, example: str) -> Any:
    """In a type hint: refuse texts that a pattern does not fit as a whole, and say in words which ones it does."""
    return Field(pattern=f"^(?s:{pattern})$", description=words, examples=[example])


def complaint(error: ValidationError, given: Any, schema: JsonSchema, name: str = "") -> InputError:
    """The error for the first thing that is wrong with a plain value, given for option `name` or as a whole config."""
    first = error.errors(include_url=False)[0]
    path, value = place(first, given)
    option, here = ".".join(filter(None, (name, *path))), _schema_at(first["loc"], schema)
    if first["type"].startswith("union_tag"):  # the option that says which kind of group it is
        tag = here["discriminator"]["propertyName"]
        return invalid(
            f"{option}.{tag}", value.get(tag), choice(kinds := [*here["discriminator"]["mapping"]]), kinds[0]
        )
    expected, example = choice(list(dict.fromkeys(_alternatives(here, schema)))), _example(here, schema)
    if first["type"] == "missing":
        return missing(option, expected, "VALUE" if example is ... else example)
    if first["type"] == "finite_number":
        expected = expected.replace("a number", "a finite number")
    if first["type"] in ("value_error", "assertion_error", "is_instance_of") or expected == "a value":
        expected, example = first["msg"].removeprefix("Input should be "), ...  # a check of a user's own
    return invalid(option, value, expected, example)


def place(error: ErrorDetails, given: Any) -> tuple[list[str], Any]:
    """The option that is wrong, as far as options have names, and the value that was given there."""
    path, value = list[str](), given
    for part in error["loc"]:
        if isinstance(value, Mapping) and part in value:
            path, value = [*path, str(part)], value[part]
    return ([*path, str(error["loc"][-1])], None) if error["type"] == "missing" else (path, value)


def _kinds(schema: JsonSchema, whole: JsonSchema) -> list[JsonSchema]:
    """The types of which a value may have one."""
    if "$ref" in schema:
        return _kinds(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    kinds = schema.get("anyOf", schema.get("oneOf"))
    return [schema] if kinds is None else [one for kind in kinds for one in _kinds(kind, whole)]


def _schema_at(place: Iterable[int | str], whole: JsonSchema) -> JsonSchema:
    """The schema of an option, of a list as a whole."""
    here = whole
    for part in place:
        kind = here.get("discriminator", {}).get("mapping", {}).get(part)
        named = (one["properties"][part] for one in _kinds(here, whole) if part in one.get("properties", ()))
        here = next(named, here) if kind is None else {"$ref": kind}
    return here


def _alternatives(schema: JsonSchema, whole: JsonSchema) -> Iterator[str]:
    """All that a value may be, in words."""
    for one in _kinds(schema, whole):
        if "enum" in one or "const" in one:
            yield from (plain(value) for value in one.get("enum", [one.get("const")]))
        elif one.get("type") == "boolean":
            yield from ("true", "false")
        elif one.get("type") == "object":
            yield "a group of options"
        elif "pattern" in one:
            yield one.get("description", f"a text like {one['pattern']}")
        else:
            limits = " and ".join(f"{sign} {plain(one[name])}" for name, sign in LIMITS.items() if name in one)
            full = "that is not empty" if one.get("minLength") or one.get("minItems") else ""
            each = choice([*_alternatives(one["items"], whole)]) if "items" in one and "type" in schema else ""
            words = " ".join(filter(None, (NOUNS.get(one.get("type", ""), "a value"), limits, full)))
            yield f"{words}, each of it {each}" if each else words


def _example(schema: JsonSchema, whole: JsonSchema) -> Any:
    """A value that is accepted; an ellipsis where none is known."""
    one = _kinds(schema, whole)[0]
    given = [*one.get("examples", ()), *one.get("enum", ()), *([one["const"]] if "const" in one else ())]
    if given:
        return given[0]
    if one.get("type") == "array" and "items" in one:
        item = _example(one["items"], whole)
        return ... if item is ... else [item]
    low, high = one.get("exclusiveMinimum"), one.get("maximum", one.get("exclusiveMaximum"))
    above = None if low is None else low + 1 if high is None or one["type"] == "integer" else (low + high) / 2
    number = next((value for value in (one.get("minimum"), above, high) if value is not None), 1)
    return {"boolean": True, "string": "NAME", "integer": number, "number": number, "null": None}.get(
        one.get("type", ""), ...
    )


def unknown_option(name: str, value: Any, there: Collection[str], example: str, of: str = "") -> InputError:
    """The error for an option, with its groups, that nothing reads; `of` is what has the options, if not the group."""
    group = name.rpartition(".")[0]
    return invalid(name, value, f"an option of {of or group} ({', '.join(sorted(there)) or 'there is none'})", example)
