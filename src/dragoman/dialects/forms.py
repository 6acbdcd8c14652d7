"""Forms, as MCP and ACP have them: a question for each field, and an object from the answers."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from dragoman.schema.events import Question, QuestionOption

YES, NO = "Yes", "No"


def is_form(schema: Any) -> bool:
    """Whether each field can be a question."""
    return isinstance(schema, dict) and isinstance(schema.get("properties"), dict)


def form_questions(message: str, schema: dict[str, Any]) -> tuple[Question, ...]:
    """A question for each field; a form without fields asks only for consent."""
    fields = _fields(schema)
    if not fields:
        options = (QuestionOption(label=YES), QuestionOption(label=NO))
        return (Question(prompt=message, options=options),)
    return tuple(_field_question(name, field, message) for name, field in fields.items())


def _field_question(name: str, field: dict[str, Any], message: str) -> Question:
    texts = [field.get("title") or name, field.get("description")]
    prompt = ": ".join(str(text) for text in texts if text)
    choices = _choices(field)
    return Question(
        question_id=name,
        header=message or UNSET,
        prompt=prompt,
        options=tuple(QuestionOption(label=label) for label in choices),
        multi_select=field.get("type") == "array",
        allow_other=not choices,
    )


def form_content(schema: dict[str, Any], answers: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    """The object that the answers fill; a field without an answer is left out."""
    pairs = zip(_fields(schema).items(), answers, strict=False)
    return {name: _value(field, labels) for (name, field), labels in pairs if labels}


def _fields(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: field for name, field in schema["properties"].items() if isinstance(field, dict)}


def _choices(field: dict[str, Any]) -> dict[str, Any]:
    """The values that a field may have, by their labels."""
    if field.get("type") == "boolean":
        return {YES: True, NO: False}
    items = field.get("items")
    source = items if field.get("type") == "array" and isinstance(items, dict) else field
    options = source.get("oneOf") or source.get("anyOf")
    if isinstance(options, list):
        return {str(one.get("title") or one.get("const")): one.get("const") for one in options
                if isinstance(one, dict)}  # fmt: skip
    values = source.get("enum")
    if not isinstance(values, list):
        return {}
    names = source.get("enumNames")
    labels = names if isinstance(names, list) and len(names) == len(values) else values
    return {str(label): value for label, value in zip(labels, values, strict=True)}


def _value(field: dict[str, Any], labels: tuple[str, ...]) -> Any:
    choices = _choices(field)
    values = [choices.get(label, label) for label in labels]
    if field.get("type") == "array":
        return values
    if field.get("type") in ("integer", "number") and isinstance(values[0], str):
        return _number(values[0], is_integer=field["type"] == "integer")
    return values[0]


def _number(text: str, *, is_integer: bool) -> Any:
    """The number that a text is; else the text, so that the server can say what is wrong."""
    try:
        return int(text) if is_integer else float(text)
    except ValueError:
        return text
