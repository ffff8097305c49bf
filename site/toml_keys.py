"""The keys of files of loops and of experiments, from the types that read them.

What a key is comes from the type's documentation, its form from the type, and its default from serde's attributes. A test asks the built
program which keys it expects and compares.
"""

import re

import ranges
import rust

LOOPS = "crates/loops/src/config/params.rs"
FORMS = {
    "f64": "number",
    "bool": "`true`, `false`",
    "String": "text",
    "PathBuf": "path",
    "Span": 'span, as `"30 minutes"`',
    "Period": 'span, or `"ever"`',
    "(f64, f64)": "`[low, high]`",
    "Value": "table",
    "Ranges": "table of `[low, high]`",
    "Intercept": "number, or `false`",
    "RewardWindow": "whole number",
    "JointMechanism": '`"suited"`, or as under [mechanisms](#mechanisms)',
    "MethodToml": "as under [methods](#methods)",
    "Rule": "as under [rules](#rules)",
    "Mechanism": "as under [mechanisms](#mechanisms)",
    "Schedule": "as under [schedules](#schedules)",
    "SetToml": "as under [sets](#sets)",
    "E": "table with a `kind`",
    "A": "table with a `kind`",
}
FORMS |= {name: "whole number" for name in ("u8", "u16", "u32", "u64", "usize")}

# Written by the service itself, and refused in a file.
REFUSED = ("warm_start_origin", "continuation")

# Families of experiments: the environments and the algorithms that go together.
FAMILIES = [
    ("Linear bandits", "crates/lab/src/environment/bandit.rs", "EnvironmentKind", "crates/lab/src/algorithm/bandit/mod.rs", "Algorithm"),
    ("Safe coordinators", "crates/lab/src/algorithm/safe/mod.rs", "Environment", "crates/lab/src/algorithm/safe/mod.rs", "Algorithm"),
    ("Losses on a set", "crates/lab/src/environment/convex/losses.rs", "LossEnvironment", "crates/lab/src/algorithm/convex/mod.rs", "Algorithm"),
    ("Online learning", "crates/lab/src/algorithm/online/mod.rs", "GradientEnvironment", "crates/lab/src/algorithm/online/mod.rs", "Algorithm"),
]


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def values(item):
    """The names of an enum's variants in files."""
    return [variant.written if variant.written != variant.name else snake(variant.name) for variant in item.members if not variant.skipped]


def inner(type):
    """The type inside `Option` and `Vec`."""
    return re.sub(r"^(?:Option|Vec|Box)<(.*)>$", r"\1", type) if re.match(r"(Option|Box)<", type) else type


def form(type, path):
    """Text of a value in a file."""
    type = inner(type)
    if type.split("::")[-1] in FORMS:
        return FORMS[type.split("::")[-1]]
    if listed := re.match(r"Vec<(.*)>$", type):
        return f"list of {plural(form(listed[1], path))}"
    if table := re.match(r"(?:BTreeMap|Map)<(?:String, )?(.*)>$", type):
        return f"table of {form(table[1], path)}"
    if pair := re.match(r"\((.*), (.*)\)$", type):
        return f"`[{form(pair[1], path)}, {form(pair[2], path)}]`"
    item = rust.resolve(type, path)
    if item is None:
        return type
    if item.kind == "struct":
        return "table"
    names = ", ".join(f'`"{name}"`' for name in values(item))
    return f"{names}, or with parameters" if any(variant.fields or variant.type for variant in item.members) else names


def plural(form):
    """Several of a form."""
    return re.sub(r"^(table|list|number|whole number|path)\b", r"\1s", form)


def expression(text):
    """A value of Rust as a file has it."""
    if seconds := re.match(r"Span::seconds\((\d+)\)", text):
        minutes = int(seconds[1]) // 60
        return f'`"{minutes} minutes"`'
    if text in ("None", "Vec::new()"):
        return "none"
    if listed := re.match(r"vec!(\[.*\])$", text):
        return f"`{listed[1]}`"
    if pair := re.match(r"\(([\d.-]+), ([\d.-]+)\)", text):
        return f"`[{pair[1]}, {pair[2]}]`"
    if converted := re.match(r"\w+::from\((\d+)(?:_?u\d+)?\)", text):
        return f"`{converted[1]}`"
    if word := re.match(r'(?:String::from\()?("[\w ]*")(?:\)|\.into\(\)|\.to_string\(\))', text):
        return f"`{word[1]}`"
    if constant := re.match(r"(?:\w+::)+(\w+)", text):
        return f'`"{constant[1].lower() if constant[1].isupper() else snake(constant[1])}"`'
    return f"`{text}`" if re.match(r"[\d.\w-]+$", text) else None


def default(member, item):
    """Value where a key is left out."""
    if item.all_default and (given := rust.default_values(item.name, item.path).get(member.name)):
        return expression(given) or ""
    if isinstance(member.default, str):
        body = rust.function_value(member.default, item.path)
        if body and body.isupper():
            body = rust.constant_value(body, item.path)
        return (body and expression(body)) or ""
    if member.type.startswith("Option<"):
        return "none"
    if member.default or item.all_default:
        return type_default(member.type, item.path)
    return "required"


def type_default(type, path):
    if type == "bool":
        return "`false`"
    if type == "f64" or FORMS.get(type) == "whole number":
        return "`0`"
    found = rust.resolve(type, path)
    if found and found.kind == "enum":
        chosen = [snake(variant.name) for variant in found.members if "#[default]" in variant.attributes]
        chosen = chosen or [found and snake(name) for name in re.findall(rf"^        {found.name}::(\w+)", rust.default_body(found.name, found.path))]
        return f'`"{chosen[0]}"`' if chosen else ""
    return "none" if not (found and found.kind == "struct") else "as below"


def cell(text):
    """A text as the cell of a table; references to Rust's items become their names."""
    text = re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?|\[([^\]]+)\]\((?:crate|super)::[^)]*\)", r"\1\2", text)
    return " ".join(text.split()).replace("|", "\\|")


def no_range(key, type):
    """For keys that the program is not asked about."""


def fields(item, prefix="", nested=True, ask=no_range):
    """Rows of a struct's keys; those of tables inside it follow their table. `ask` knows the range of a key."""
    for member in item.members:
        if member.skipped or member.name in REFUSED:
            continue
        alias = re.search(r'alias = "(\w+)"', member.attributes)
        name = f"`{prefix}{member.written}`" + (f", `{prefix}{alias[1]}`" if alias else "")
        table = rust.resolve(inner(member.type), item.path)
        table = table if table and table.kind == "struct" else None
        shown = default(member, item)
        if not (table and nested):
            values = ask(f"{prefix}{member.written}", inner(member.type)) or form(member.type, item.path)
            yield f"| {name} | {values} | {shown} | {cell(member.doc)} |"
        else:
            yield f"| {name} | table | {shown} | {cell(member.doc)} |"
            yield from fields(table, f"{prefix}{member.written}.", nested, ask)


def table(rows):
    return "\n".join(["| key | value | default | what it is |", "| --- | --- | --- | --- |", *rows]) + "\n"


def with_parameters(item, ask=no_range):
    """The variants of an enum with their parameters."""
    rows = []
    for variant in item.members:
        rows.append(f'| `"{snake(variant.name)}"` | | | {cell(variant.doc)} |')
        shell = rust.Item("struct", variant.name, item.path, "", "", variant.fields)
        rows += fields(shell, f"{snake(variant.name)}.", nested=False, ask=ask)
    return table(rows)


def kinds(path, name, table_name, ask_of=lambda kind: no_range):
    """A section for each variant of an enum that is chosen by `kind`."""
    parts = []
    for variant in rust.resolve(name, path).members:
        kind = snake(variant.name)
        parts.append(f'#### {table_name} kind = "{kind}"\n\n{variant.doc}\n\n')
        parts.append(table(fields(rust.resolve(inner(variant.type), path), ask=ask_of(kind))) + "\n")
    return "".join(parts)


def shared(title, name, path, ask=no_range):
    """Values with parameters that several tables take."""
    return f"## {title}\n\nA name, or a table with the name and its parameters.\n\n{with_parameters(rust.resolve(name, path), ask)}\n"


RULE = ("Rules", "Rule", "crates/core/src/bandit/rule/mod.rs")


def feature_tables():
    """The types of tables of the rule from records to vectors, by their key."""
    files = {"cross": "params.rs", "products": "products.rs", "fourier": "fourier.rs", "projection": "projection.rs"}
    return {name: rust.resolve(name.capitalize(), f"crates/core/src/features/{path}") for name, path in files.items()}


def loops():
    """Every key of a file of loops."""
    text = "## [loop.NAME]\n\n" + table(fields(rust.resolve("LoopParams", LOOPS), ask=ranges.ask_loop))
    encoding = rust.resolve("Encoding", "crates/core/src/features/encoding.rs")
    rows = [f"| `{snake(variant.name)}` | {cell(variant.doc)} |" for variant in encoding.members]
    text += "\n## Features\n\nIn `[loop.NAME.context]` and `[loop.NAME.action]`:\n\n| key | what it is |\n| --- | --- |\n" + "\n".join(rows)
    for name, item in feature_tables().items():
        text += f"\n\n### [loop.NAME.{name}]\n\n{item.doc}\n\n" + table(fields(item))
    return text + "\n" + shared(*RULE, lambda key, type: ranges.ask_loop(f"learner.rule.{key}", type))


def other_files():
    """Every key of the files of `learn`, `plan` and `privacy account`."""
    learn = rust.resolve("LearnFile", "crates/lab/src/algorithm/online/learn.rs")
    plan = rust.resolve("PlanFile", "crates/lab/src/algorithm/safe/plan.rs")
    text = f"## A file for learn\n\n{table(fields(learn))}\n## A file for plan\n\n{table(fields(plan))}\n"
    text += "## Events\n\nA list `[[event]]`, each with a `kind`.\n\n"
    for variant in rust.resolve("Event", "crates/core/src/privacy/event.rs").members:
        shell = rust.Item("struct", variant.name, "crates/core/src/privacy/event.rs", "", "", variant.fields)
        rows = list(fields(shell, nested=False))
        text += f'### kind = "{snake(variant.name)}"\n\n{cell(variant.doc)}\n\n' + (table(rows) + "\n" if rows else "")
    return text


def experiments():
    """Every key of an experiment."""
    whole = rust.resolve("ExperimentToml", "crates/lab/src/experiment/mod.rs")
    text = "## The file\n\n" + table(fields(whole, nested=False, ask=ranges.ask_experiment("gap", "linucb", ""))) + "\n"
    figure = rust.resolve("FigureToml", "crates/lab/src/report/summary/drawing.rs")
    text += f"## [figure]\n\n{figure.doc}\n\n" + table(fields(figure, "figure.")) + "\n"
    for title, environments, environment, algorithms, algorithm in FAMILIES:
        # Environments are tried with the first algorithm, algorithms in the first environment that needs no file.
        first = next(snake(variant.name) for variant in rust.resolve(environment, environments).members if snake(variant.name) in ranges.ALGORITHMS)
        other = next(iter(ranges.ALGORITHMS[first]))

        def of_environment(kind):
            return ranges.ask_experiment(kind, other, "environment.") if kind in ranges.ALGORITHMS else no_range

        def of_algorithm(kind):
            return ranges.ask_experiment(first, kind, "algorithm.")

        text += f"## {title}\n\n### Environments of {title.lower()}\n\n{kinds(environments, environment, 'environment', of_environment)}"
        if environment == "EnvironmentKind":
            ask = ranges.ask_experiment(first, other, "environment.modifiers.")
            text += "#### [environment.modifiers]\n\nDelays, losses and changes that any of them may have.\n\n"
            text += table(fields(rust.resolve("Modifiers", environments), ask=ask)) + "\n"
        text += f"### Algorithms of {title.lower()}\n\n{kinds(algorithms, algorithm, 'algorithm', of_algorithm)}"
    joint = ("gap", "joint")
    text += shared(*RULE, ranges.ask_experiment(*joint, "algorithm.rule."))
    text += shared("Mechanisms", "Mechanism", "crates/core/src/release/factorization.rs", ranges.ask_experiment(*joint, "algorithm.mechanism."))
    text += shared("Schedules", "Schedule", "crates/core/src/release/schedule.rs", ranges.ask_experiment(*joint, "algorithm.schedule."))
    text += shared("Methods", "Method", "crates/core/src/online/learner.rs", ranges.ask_experiment("gradients", "online_learner", "algorithm.method."))
    return text + shared("Sets", "SetToml", "crates/lab/src/environment/convex/sets.rs")
