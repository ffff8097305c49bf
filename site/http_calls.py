"""The calls of the service as tables, from the OpenAPI document that it serves."""

import program

TITLES = {"decisions": "Decisions", "rewards": "Rewards", "releases": "Releases and certificates", "devices": "Devices and shufflers", "people": "People", "personalizer": "Personalizer's calls", "operation": "Operation"}


def reference(schema):
    """The name of the schema that another one points to."""
    return schema.get("$ref", "").rpartition("/")[2]


def form(schema):
    """A schema in a few words."""
    if name := reference(schema):
        return f"[`{name}`](#{name.lower()})" if name in shown() else form(program.calls()["components"]["schemas"][name])
    if parts := schema.get("allOf"):
        return " and ".join(form(part) for part in parts)
    if options := schema.get("oneOf", schema.get("anyOf", [])):
        return " or ".join(dict.fromkeys(form(option) for option in options if option.get("type") != "null"))
    if values := schema.get("enum"):
        return ", ".join(f'`"{value}"`' for value in values)
    kinds = schema.get("type", "any")
    kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    if kinds == ["array"]:
        return f"list of {form(schema.get('items', {}))}"
    words = {"integer": "whole number", "boolean": "`true`, `false`", "string": "text", "object": "object"}
    limits = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to"), ("maxLength", "at most"), ("maxItems", "at most")) if schema.get(key)]
    return ", ".join([" or ".join(words.get(kind, kind) for kind in kinds), *limits])


def shown():
    """Schemas that are objects with named fields."""
    return [name for name, schema in program.calls()["components"]["schemas"].items() if schema.get("properties")]


def cell(text):
    return " ".join((text or "").split()).replace("|", "\\|")


def body(call):
    """The names of fields in requests and answers."""
    sent = [form(content["schema"]) for content in call.get("requestBody", {}).get("content", {}).values() if "schema" in content]
    status, answer = next(((status, answer) for status, answer in call["responses"].items() if status.startswith("2")), ("", {}))
    answered = [form(content["schema"]) for content in answer.get("content", {}).values() if "schema" in content]
    return (sent or [""])[0], f"{status} {(answered or [''])[0]}".strip()


def calls(tag):
    rows = []
    for path, methods in program.calls()["paths"].items():
        for method, call in methods.items():
            if tag in call.get("tags", []):
                sent, answered = body(call)
                rows.append(f"| `{method.upper()} {path}` | {cell(call.get('summary'))} | {sent} | {answered} |")
    return f"## {TITLES.get(tag, tag)}\n\n| call | what it does | sent | answered |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"


def object_table(name):
    schema = program.calls()["components"]["schemas"][name]
    required = schema.get("required", [])
    rows = [
        f"| `{field}` | {form(part)} | {'yes' if field in required else ''} | {cell(part.get('description'))} |"
        for field, part in schema["properties"].items()
    ]
    return f"### {name}\n\n{cell(schema.get('description'))}\n\n| field | value | required | what it is |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"


def problems():
    """The statuses that every call may answer with."""
    call = program.calls()["paths"]["/v1/loops/{loop}/rank"]["post"]
    rows = [f"| {status} | {cell(answer.get('description'))} |" for status, answer in sorted(call["responses"].items()) if not status.startswith("2")]
    return "## Problems\n\n| status | when |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def text():
    tags = dict.fromkeys(tag for methods in program.calls()["paths"].values() for call in methods.values() for tag in call.get("tags", []))
    order = [tag for tag in TITLES if tag in tags] + [tag for tag in tags if tag not in TITLES]
    objects = "\n".join(object_table(name) for name in shown())
    return "\n".join([*(calls(tag) for tag in order), problems(), "## Objects\n", objects])
