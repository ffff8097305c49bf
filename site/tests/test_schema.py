"""The schemas that `reticent schema` prints take what the program takes, by an independent validator."""

import copy
import functools
import json
import subprocess
import tomllib

import jsonschema
import program
import pytest
import ranges
import rust
import toml_keys
from repository import ROOT
from test_commands import printed_files
from test_keys import keys, kinds

FILES = sorted(path for folder in ("examples", "crates") for path in (ROOT / folder).rglob("*.toml") if path.name not in ("Cargo.toml", "clippy.toml"))


@functools.cache
def schema(kind):
    printed = json.loads(program.printed("schema", kind))
    jsonschema.Draft7Validator.check_schema(printed)
    return printed


@functools.cache
def validator(kind):
    return jsonschema.Draft7Validator(schema(kind))


def kind_of(document):
    """Kind of a file, by a key that only this kind has."""
    marks = {"loop": "loops", "environment": "experiment", "event": "events", "loss": "learn", "horizon": "plan"}
    return next(kind for key, kind in marks.items() if key in document)


def problem(document):
    """Reason for which the schema refuses a document; empty if it does not."""
    error = next(validator(kind_of(document)).iter_errors(document), None)
    return f"{error.json_path}: {error.message}" if error else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_of_the_repository_is_valid(path):
    assert problem(tomllib.loads(path.read_text())) == ""


@pytest.mark.parametrize("text", list(printed_files()))
def test_a_printed_file_is_valid(text):
    assert problem(tomllib.loads(text)) == ""


def written(value):
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {written(entry)}" for key, entry in value.items()) + " }"
    return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else json.dumps(value)


def refusal(document):
    """Error with which the program refuses a document; empty if it does not."""
    lines = [f"{key} = {written(entry)}" for key, entry in document.items() if key != "loop"]
    # The program tells a file of loops by their headers.
    for name, table in document.get("loop", {}).items():
        lines += [f"[loop.{name}]", *(f"{key} = {written(entry)}" for key, entry in table.items())]
    try:
        return program.refusal("\n".join(lines))
    except subprocess.TimeoutExpired:
        return ""


def tables(value, path=()):
    """The paths of all tables in a document."""
    if isinstance(value, dict):
        yield path
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from tables(entry, (*path, key))


def changed(document, path, value):
    """A copy with another value at a path of keys and numbers."""
    document = copy.deepcopy(document)
    *before, last = path
    table = functools.reduce(lambda table, key: table[key], before, document)
    table[last] = value
    return document


# Names of people's own: columns of files, loops, features.
OWN_NAMES = {"ranges", "categories", "hashes", "context", "action", "loop", "effects", "decay", "weight"}


def with_one_algorithm(document):
    """The document with one algorithm of each kind by itself: the program would calibrate those before it."""
    tables = {str(table["kind"]): table for table in document.get("algorithm", [])}
    return [document | {"algorithm": [table]} for table in tables.values()] or [document]


def wrong(document):
    """Documents with one mistake each, and the mistake's name."""
    for path in tables(document):
        if not OWN_NAMES & set(path[-1:]) and not {"context", "action"} & set(path):
            yield f"unknown key in {path}", changed(document, (*path, "nonsense"), 1)
        table = functools.reduce(lambda table, key: table[key], path, document)
        if "kind" in table:
            yield f"wrong kind of {path}", changed(document, (*path, "kind"), "nonsense")
        if path[-1:] == ("privacy",) and "epsilon" in table:
            yield f"negative budget of {path}", changed(document, (*path, "epsilon"), -1)
            yield f"budget of {path} in words", changed(document, (*path, "epsilon"), "small")
    if "rounds" in document:
        yield "number of rounds in words", changed(document, ("rounds",), "many")


def errors(error):
    """The complaints of an error, where they stand and what they say: those inside a choice too."""
    return [inner for context in error.context for inner in errors(context)] or [(error.json_path, error.message)]


def all_errors(document):
    return [found for error in validator(kind_of(document)).iter_errors(document) for found in errors(error)]


TWO = ranges.experiment("gap", "joint") + '[[algorithm]]\nkind = "linucb"\n'
LOOP = """
[loop.home]
privacy = { epsilon = 1.0, delta = 1e-6, visits = 10, per = "30 days" }
learner = { explore = "thompson", forget = "90 days", tick = "10 minutes" }
[loop.home.context]
age = { range = [18, 80] }
[loop.home.action]
topic = { categories = ["news", "sport"] }
word = { hash = { buckets = 8 } }
"""
TABLE = """
name = "shapes"
rounds = 100
[environment]
kind = "table"
file = "shapes.csv"
fourier = { count = 12, scale = 0.5, seed = 7 }
[[algorithm]]
kind = "linucb"
"""
EVENTS = """
[[event]]
kind = "laplace"
sensitivity = 1
scale = 2
[[event]]
kind = "repeated"
times = 3
event = { kind = "gaussian", sensitivity = 1, sigma = 20 }
"""


@pytest.mark.parametrize(
    "text, right, wrong, place, says",
    [
        (TWO, 'kind = "joint"\n', 'kind = "joint"\nwindw = 5\n', "$.algorithm[0].windw", "a key that this table has not"),
        (TWO, 'kind = "joint"', 'kind = "jont"', "$.algorithm[0].kind", "'jont' is not one of ['linucb', 'joint', "),
        (TWO, "epsilon = 1.0", "epsilon = -1.0", "$.algorithm[0].privacy.epsilon", "-1.0"),
        (TWO, 'kind = "joint"\n', 'kind = "joint"\nrule = "tund"\n', "$.algorithm[0].rule", "'tund' is not one of ['certified', "),
        (TWO, 'kind = "joint"\n', 'kind = "joint"\nrule = { tuned = { rigde = 1 } }\n', "$.algorithm[0].rule.tuned.rigde", "a key that this table has not"),
        (TWO, 'kind = "joint"\n', 'kind = "joint"\nrule = { tund = { ridge = 1 } }\n', "$.algorithm[0].rule", "'tund' is not one of"),
        (TWO, "dimension = 5", "dimensoin = 5", "$.environment.dimensoin", "a key that this table has not"),
        (TWO, "[environment]", '[figure]\nagainst = "epsilon"\nsiez = 1\n[environment]', "$.figure.siez", "a key that this table has not"),
        (LOOP, "range = [18, 80]", "range = [18]", "$.loop.home.context.age.range", "too short"),
        (LOOP, "range = [18, 80]", "rnge = [18, 80]", "$.loop.home.context.age.rnge", "is not of type 'object'"),
        (LOOP, "range = [18, 80]", "range = [18, 80], weight = -1", "$.loop.home.context.age.weight", "less than the minimum"),
        (LOOP, "range = [18, 80]", "cycle = 0", "$.loop.home.context.age.cycle", "less than or equal to the minimum"),
        (LOOP, "range = [18, 80]", 'cycle = "day"', "$.loop.home.context.age.cycle", "is not of type 'number'"),
        (LOOP, "range = [18, 80]", 'bins = ["a"]', "$.loop.home.context.age.bins[0]", "is not of type 'number'"),
        (LOOP, '["news", "sport"]', '["news", "news"]', "$.loop.home.action.topic.categories", "non-unique"),
        (LOOP, "[loop.home.context]", "[loop.home.weight]\nconstant = -0.1\n[loop.home.context]", "$.loop.home.weight.constant", "less than the minimum"),
        (LOOP, "learner =", "events_per_day = -3\nlearner =", "$.loop.home.events_per_day", "less than or equal to the minimum"),
        (LOOP, "[loop.home.action]", '[loop.home.cross]\nmatch = [["age", "topic", "word"]]\n[loop.home.action]', "$.loop.home.cross.match[0]", "too long"),
        (TABLE, "count = 12", "count = 0", "$.environment.fourier.count", "less than the minimum"),
        (TABLE, "scale = 0.5", "scale = -0.5", "$.environment.fourier.scale", "less than the minimum"),
        (LOOP, "buckets = 8", "buckets = 0", "$.loop.home.action.word.hash.buckets", "less than the minimum"),
        (LOOP, '"thompson"', '"thomson"', "$.loop.home.learner.explore", "'thomson' is not one of"),
        (LOOP, "delta = 1e-6", "delta = 0.5", "$.loop.home.privacy.delta", "maximum"),
        (LOOP, '"30 days"', '"30 dayz"', "$.loop.home.privacy.per", "does not match"),
        (LOOP, '"10 minutes"', '"0 minutes"', "$.loop.home.learner.tick", "does not match"),
        (EVENTS, "scale = 2", "scale = -2", "$.event[0].scale", "minimum"),
        (EVENTS, "scale = 2", "scle = 2", "$.event[0].scle", "a key that this table has not"),
        (EVENTS, '"laplace"', '"laplase"', "$.event[0].kind", "'laplase' is not one of"),
        (EVENTS, "sigma = 20", "sigma = 0", "$.event[1].event.sigma", "minimum"),
        (EVENTS, "times = 3", "times = 0", "$.event[1].times", "minimum"),
    ],
)
def test_a_mistake_is_marked_where_it_is(text, right, wrong, place, says):
    """One mistake is reported at its own place, in words that name it, and nothing else is marked but keys that are missing because of it."""
    assert right in text and all_errors(tomllib.loads(text)) == []
    found = all_errors(tomllib.loads(text.replace(right, wrong, 1)))
    assert [where for where, message in found if where == place and says in message], found
    others = [message for where, message in found if where != place]
    assert all("is a required property" in message for message in others), found


def test_no_choice_is_left_to_a_validator():
    """Every choice but that between lists of lists is made by cases: its forms stay for editors, beside one that takes everything."""
    for kind in ("experiment", "loops", "learn", "plan", "events"):
        for part in parts(schema(kind)):
            assert "oneOf" not in part, (kind, part)
            forms = part.get("anyOf", [True])
            assert forms[-1] is True or [form.get("type") for form in forms] == ["array", "array"], (kind, part)


def parts(value):
    """All tables inside a schema."""
    if isinstance(value, dict):
        yield value
    for entry in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(entry)


READ = [path for path in FILES if kind_of(tomllib.loads(path.read_text())) in ("experiment", "loops")]


@pytest.mark.parametrize("path", READ, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_mistake_is_refused_by_schema_and_program(path):
    for whole in with_one_algorithm(tomllib.loads(path.read_text())):
        found = dict(wrong(whole))
        assert len(found) > 3
        for name, document in found.items():
            assert problem(document), f"the schema takes: {name}"
            assert refusal(document), f"the program takes: {name}"


def values():
    """Every key of every file once, as a document and a path in it; kinds of environments and algorithms are different places."""
    seen = set()
    for document in (document for path in READ for document in with_one_algorithm(tomllib.loads(path.read_text()))):
        for table in tables(document):
            entries = functools.reduce(lambda inner, key: inner[key], table, document)
            # A feature may have the name "kind" too.
            kind = entries.get("kind") if isinstance(entries.get("kind"), str) else ""
            for key in entries:
                named = ("loop", *table[2:]) if table[:1] == ("loop",) else table
                where = tuple(step for step in named if isinstance(step, str))
                place = (where, kind, key)
                whole = where == ("loop",) and len(table) < 2 or key == "loop"
                if place not in seen and not whole and "results/" not in written(document):
                    seen.add(place)
                    yield pytest.param(document, (*table, key), id=".".join(map(str, (*where, kind, key))))


OTHERS = [-1, 0, 0.5, 3, "nonsense", True, {}]


@pytest.mark.parametrize("document, path", list(values()))
def test_what_the_program_takes_is_valid(document, path):
    """The schema refuses nothing that the program takes, whatever stands in place of a value."""
    given = functools.reduce(lambda table, key: table[key], path, document)
    # serde also takes a table's values as a list, in the order of its fields, which no page shows.
    for value in OTHERS if isinstance(given, dict) else [*OTHERS, [1, 2], [given, given]]:
        other = changed(document, path, value)
        if found := problem(other):
            assert refusal(other), f"{value!r}: {found}"


EVENT_KINDS = [
    {"kind": "nothing"},
    {"kind": "gaussian", "sensitivity": 1, "sigma": 20},
    {"kind": "grid_gaussian", "mu": 0.1, "sigma": 100, "coordinates": 5},
    {"kind": "grid_sum", "mu": 0.1, "sigma": 100, "coordinates": 5, "people": 10},
    {"kind": "discrete_gaussian", "sensitivity": 1, "sigma": 20},
    {"kind": "laplace", "sensitivity": 1, "scale": 20},
    {"kind": "discrete_laplace", "sensitivity": 1, "scale": 20},
    {"kind": "randomized_response", "categories": 3, "epsilon": 0.5},
    {"kind": "priv_unit", "cap": 0.3, "inside": 0.5},
    {"kind": "k_norm", "dimension": 3, "epsilon": 0.5},
    {"kind": "pure", "epsilon": 0.5},
    {"kind": "approximate", "epsilon": 0.5, "delta": 1e-9},
    {"kind": "shuffled", "epsilon": 0.5, "people": 1000, "binary": True},
    {"kind": "shuffled_priv_unit", "cap": 0.3, "inside": 0.5, "people": 1000},
    {"kind": "secure_sum", "sensitivity": 1, "sigma": 20, "people": 10},
    {"kind": "at_most", "event": {"kind": "pure", "epsilon": 0.5}},
    {"kind": "composed", "events": [{"kind": "pure", "epsilon": 0.5}]},
    {"kind": "repeated", "event": {"kind": "pure", "epsilon": 0.5}, "times": 3},
]


def account(event, tmp_path):
    """Error with which `reticent privacy account` refuses an event; empty if it does not."""
    file = tmp_path / "events.toml"
    file.write_text(f"event = [{written(event)}]\n")
    done = subprocess.run([program.BINARY, "privacy", "account", file, "--delta", "1e-6"], capture_output=True, text=True, timeout=60)
    return done.stderr if done.returncode else ""


def test_every_event_is_tried():
    kinds = [form["properties"]["kind"]["const"] for form in schema("events")["definitions"]["Event"]["anyOf"] if form is not True]
    assert kinds == [event["kind"] for event in EVENT_KINDS]


@pytest.mark.parametrize("event", EVENT_KINDS, ids=lambda event: event["kind"])
def test_a_number_of_an_event_is_refused_by_schema_and_program_alike(event, tmp_path):
    assert (problem({"event": [event]}), account(event, tmp_path)) == ("", "")
    for key in event.keys() - {"kind", "event", "events"}:
        for value in (-1, 0, 0.5, 1, "nonsense"):
            other = event | {key: value}
            found, refused = problem({"event": [other]}), account(other, tmp_path)
            # The program checks how values go together, also with the delta that is asked for.
            together = "expected at least cap" in refused or "cannot bound it" in refused
            assert bool(found) == bool(refused) or together, f"{key} = {value!r}: {found!r}, {refused!r}"


GRID = ranges.experiment("gap", "joint")


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": [{"kind": "joint", "privacy": {"epsilon": [0.5, 1], "delta": [1e-6, 1e-7]}}]},
        {"algorithm": [{"kind": "joint", "privacy": [{"epsilon": 1, "delta": 1e-6}, {"epsilon": 2, "delta": 1e-6}]}]},
        {"algorithm": [{"kind": "joint", "privacy": {"epsilon": 1, "delta": 1e-6}, "rule": ["thompson", {"tuned": {"ridge": 1}}]}]},
        {"algorithm": {"kind": "joint", "privacy": {"epsilon": 1, "delta": 1e-6}, "rule": {"tuned": {"ridge": [1, 2]}}}},
        {"algorithm": [{"kind": ["online_ucb", "anytime"], "privacy": {"epsilon": 1, "delta": 1e-6}}]},
        {"algorithm": [{"kind": ["joint", "local"], "privacy": {"epsilon": 1, "delta": 1e-6}, "contributions_per_person": 2}]},
        {"algorithm": [{"kind": "local", "privacy": {"epsilon": 2, "delta": 1e-6}, "levels": [[1, 2], [2]]}]},
        {"environment": {"kind": "gap", "dimension": [4, 5], "arms": 9, "modifiers": {"delay": {"fixed": [1, 2]}}}},
        {"environment": [{"kind": "gap", "dimension": 4, "arms": 9}, {"kind": "sphere"}]},
        {"figure": [{"title": False}]},
    ],
)
def test_a_list_makes_a_grid(change):
    document = tomllib.loads(GRID) | change
    assert (problem(document), refusal(document)) == ("", "")


@pytest.mark.parametrize(
    "change",
    [
        {"environment": {"kind": ["gap", "sphere"], "arms": 9}},
        {"environment": {"kind": "losses", "set": {"kind": "simplex", "outcomes": 5}}},
        {"algorithm": [{"kind": "joint", "privacy": {"epsilon": [], "delta": 1e-6}}]},
        {"algorithm": [{"kind": "joint", "privacy": [{"epsilon": [1, 2], "delta": 1e-6}]}]},
        {"algorithm": [{"kind": "joint", "privacy": {"epsilon": [0.5, "much"], "delta": 1e-6}}]},
        {"algorithm": [{"kind": "joint", "privacy": {"epsilon": [0.5, -1], "delta": 1e-6}}]},
        {"algorithm": [{"kind": ["joint", "local"], "privacy": {"epsilon": 1, "delta": 1e-6}, "window": 50}]},
        {"algorithm": []},
        {"rounds": [1000, 2000]},
    ],
)
def test_a_list_that_is_no_grid(change):
    document = tomllib.loads(GRID) | change
    assert problem(document) and refusal(document)


def numbers(text, table, item):
    """The keys of a table with a number that the program refuses by its range, as documents."""
    found = {}

    def ask(key, type):
        for wrong in ranges.WRONG.get(type, [])[:1]:
            if program.remedy(program.refusal(text, "--set", f"{table}.{key}={wrong}"), key.split(".")[-1]):
                document = tomllib.loads(text)
                *before, last = key.split(".")
                place = document[table] if table == "environment" else document[table][0]
                functools.reduce(lambda inner, step: inner.setdefault(step, {}), before, place)[last] = tomllib.loads(f"number = {wrong}")["number"]
                found[key] = document

    list(toml_keys.fields(item, ask=ask))
    return found


@pytest.mark.parametrize("environment", ranges.ALGORITHMS)
def test_a_number_out_of_range_is_refused_by_the_schema(environment):
    tables = [("algorithm", kind, dict(kinds(1))[kind]) for kind in ranges.ALGORITHMS[environment]]
    tables.append(("environment", next(iter(ranges.ALGORITHMS[environment])), dict(kinds(0))[environment]))
    found = {}
    for table, algorithm, item in tables:
        found |= {(algorithm, key): document for key, document in numbers(ranges.experiment(environment, algorithm), table, item).items()}
    assert len(found) > 1
    assert [name for name, document in found.items() if not problem(document)] == []


def test_a_rule_beside_published_constants():
    for kind in ("shuffle", "ldp_linucb"):
        algorithm = {"kind": kind, "mode": "paper", "privacy": {"epsilon": 1, "delta": 1e-6}}
        document = {"name": "x", "rounds": 2000, "environment": {"kind": "sphere"}, "algorithm": [algorithm]}
        assert (problem(document), refusal(document)) == ("", "")
        algorithm["rule"] = {"tuned": {"ridge": -1}}
        assert problem(document) and refusal(document)


def resolved(whole, part):
    """A part of a schema without references; of a value or a list of values, the value."""
    while True:
        if "$ref" in part:
            part = whole["definitions"][part["$ref"].removeprefix("#/definitions/")]
        elif len(part.get("allOf", [])) == 1:
            part = part["allOf"][0]
        elif "anyOf" in part and [form for form in part["anyOf"] if form is not True][-1].get("type") == "array":
            part = part["anyOf"][0]
        else:
            return part


def keys_of(whole, part, prefix=""):
    """The keys that a schema of a table lists, those of tables inside it too."""
    for name, entry in resolved(whole, part).get("properties", {}).items():
        yield f"{prefix}{name}"
        yield from keys_of(whole, entry, f"{prefix}{name}.")


def test_keys_of_loops_are_those_of_the_reference():
    whole = schema("loops")
    listed = keys(toml_keys.fields(rust.resolve("LoopParams", toml_keys.LOOPS)))
    assert set(keys_of(whole, whole["properties"]["loop"]["additionalProperties"])) == listed | keys_of_features(listed)


def keys_of_features(listed):
    """The keys of the tables of features that are among these keys, which the reference lists once for all."""
    tables = {name: item for name, item in toml_keys.feature_tables().items() if name in listed}
    return {key for name, item in tables.items() for key in keys(toml_keys.fields(item, f"{name}."))}


@pytest.mark.parametrize("position, name", [(0, "Environment"), (1, "Algorithm")])
def test_keys_of_experiments_are_those_of_the_reference(position, name):
    whole = schema("experiment")
    tables = {table["properties"]["kind"]["const"]: table for table in whole["definitions"][name]["anyOf"] if table is not True and "const" in table["properties"]["kind"]}
    listed = dict(kinds(position))
    assert tables.keys() == listed.keys()
    modifiers = keys(toml_keys.fields(rust.resolve("Modifiers", "crates/lab/src/environment/bandit.rs"), "modifiers."))
    for kind, table in tables.items():
        more = {"kind"} | ({"modifiers"} | modifiers if "modifiers" in table["properties"] else set())
        of_kind = keys(toml_keys.fields(listed[kind]))
        # Only a file with the context's features and the action's has the rest as that reference has it.
        of_features = keys_of_features(of_kind) if {"context", "action"} <= of_kind else set()
        assert set(keys_of(whole, table)) == of_kind | of_features | more, kind


def test_keys_of_the_whole_file_are_those_of_the_reference():
    whole = rust.resolve("ExperimentToml", "crates/lab/src/experiment/mod.rs")
    figure = rust.resolve("FigureToml", "crates/lab/src/report/summary/drawing.rs")
    assert schema("experiment")["properties"].keys() == keys(toml_keys.fields(whole, nested=False))
    assert schema("experiment")["definitions"]["FigureToml"]["properties"].keys() == keys(toml_keys.fields(figure))


@pytest.mark.parametrize(
    "name, path",
    [
        toml_keys.RULE[1:],
        ("Mechanism", "crates/core/src/release/factorization.rs"),
        ("Schedule", "crates/core/src/release/schedule.rs"),
        ("Method", "crates/core/src/online/learner.rs"),
    ],
)
def test_parameters_of_a_choice_are_those_of_the_reference(name, path):
    whole = schema("experiment")
    forms = [form for form in whole["definitions"][name]["anyOf"] if form is not True]
    tables = [form for form in forms if "properties" in form]
    names = {word for form in forms for word in [form.get("const"), *form.get("properties", {})] if word}
    assert names == set(toml_keys.values(rust.resolve(name, path)))
    for variant in rust.resolve(name, path).members:
        listed = {toml_keys.snake(variant.name)} | {f"{toml_keys.snake(variant.name)}.{field.name}" for field in variant.fields}
        found = {key for form in tables for key in keys_of(whole, form) if key.split(".")[0] == toml_keys.snake(variant.name)}
        assert {key for key in found if key.count(".") < 2} == (listed if variant.fields else set())


def test_a_schema_is_also_written_to_a_file(tmp_path):
    path = tmp_path / "loops.schema.json"
    assert program.printed("schema", "loops", "--out", path) == f"Written to {path}\n"
    assert json.loads(path.read_text()) == schema("loops")
