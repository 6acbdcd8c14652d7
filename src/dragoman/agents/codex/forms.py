"""Forms of MCP servers: a question for each field, and an object from the answers."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from dragoman.schema.events import Question, QuestionOption

YES, NO = "Yes", "No"


def is_form(schema: Any) -> bool:
    """Whether it is one that can be asked for field by field."""
    return isinstance(schema, dict) and isinstance(schema.get("properties"), dict)


def questions(message: str, schema: dict[str, Any]) -> tuple[Question, ...]:
    """A question for each field; a form without any asks only for consent."""
    fields = _fields(schema)
    if not fields:
        options = (QuestionOption(label=YES), QuestionOption(label=NO))
        return (Question(prompt=message, options=options),)
    return tuple(_question(name, field, message) for name, field in fields.items())


def _question(name: str, field: dict[str, Any], message: str) -> Question:
    told = [field.get("title") or name, field.get("description")]
    prompt = ": ".join(str(part) for part in told if part)
    choices = _choices(field)
    return Question(
        question_id=name,
        header=message or UNSET,
        prompt=prompt,
        options=tuple(QuestionOption(label=label) for label in choices),
        multi_select=field.get("type") == "array",
        allow_other=not choices,
    )


def content(schema: dict[str, Any], answers: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    """The object that the answers fill; a field without an answer is left out."""
    pairs = zip(_fields(schema).items(), answers, strict=False)
    return {name: _value(field, given) for (name, field), given in pairs if given}


def _fields(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: field for name, field in schema["properties"].items() if isinstance(field, dict)}


def _choices(field: dict[str, Any]) -> dict[str, Any]:
    """What may be chosen, by how it is called."""
    if field.get("type") == "boolean":
        return {YES: True, NO: False}
    items = field.get("items")
    source = items if field.get("type") == "array" and isinstance(items, dict) else field
    titled = source.get("oneOf") or source.get("anyOf")
    if isinstance(titled, list):
        return {str(one.get("title") or one.get("const")): one.get("const") for one in titled
                if isinstance(one, dict)}  # fmt: skip
    values = source.get("enum")
    if not isinstance(values, list):
        return {}
    names = source.get("enumNames")
    labels = names if isinstance(names, list) and len(names) == len(values) else values
    return {str(label): value for label, value in zip(labels, values, strict=True)}


def _value(field: dict[str, Any], given: tuple[str, ...]) -> Any:
    choices = _choices(field)
    chosen = [choices.get(label, label) for label in given]
    if field.get("type") == "array":
        return chosen
    if field.get("type") in ("integer", "number") and isinstance(chosen[0], str):
        return _number(chosen[0], whole=field["type"] == "integer")
    return chosen[0]


def _number(text: str, *, whole: bool) -> Any:
    """The number that a text is; else the text, so that the server can say what it minds."""
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return text
