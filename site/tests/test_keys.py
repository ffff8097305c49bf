"""The reference of TOML keys has exactly the keys that the program expects, as it says when it refuses another one."""

import re

import program
import pytest
import ranges
import rust
import toml_keys

PRIVACY = "privacy = { epsilon = 1.0, delta = 1e-6 }"
LOOP_TABLES = {
    "": f"{PRIVACY}\nnonsense = 1",
    "privacy": "privacy = { epsilon = 1.0, delta = 1e-6, nonsense = 1 }",
    **{name: f"{PRIVACY}\n{name} = {{ nonsense = 1 }}" for name in ("learner", "reward", "baseline", "device", "shuffle")},
}


def keys(rows):
    """The names of rows of a table; a name in two forms is both."""
    return {name for row in rows for name in re.findall(r"`([\w.]+)`", row.split(" | ")[0])}


@pytest.mark.parametrize("table", LOOP_TABLES)
def test_keys_of_a_loop(table):
    expected = program.expected(program.refusal(f"[loop.home]\n{LOOP_TABLES[table]}\n"))
    listed = keys(toml_keys.fields(rust.resolve("LoopParams", toml_keys.LOOPS)))
    inside = {name.removeprefix(f"{table}.") for name in listed if name.startswith(f"{table}.")} if table else {name for name in listed if "." not in name}
    assert expected and inside == set(expected) - set(toml_keys.REFUSED)


def kinds(position):
    for _, *paths in toml_keys.FAMILIES:
        path, name = paths[2 * position : 2 * position + 2]
        for variant in rust.resolve(name, path).members:
            yield toml_keys.snake(variant.name), rust.resolve(toml_keys.inner(variant.type), path)


def test_every_kind_is_listed():
    text = ranges.experiment("gap", "linucb")
    environments = program.expected(program.refusal(text, "--set", 'environment.kind="nonsense"'))
    assert environments and {kind for kind, _ in kinds(0)} == set(environments)
    algorithms = set()
    for environment, (algorithm, *_) in ((environment, list(known)) for environment, known in ranges.ALGORITHMS.items()):
        found = program.expected(program.refusal(ranges.experiment(environment, algorithm), "--set", 'algorithm.kind="nonsense"'))
        assert found
        algorithms |= set(found)
    assert {kind for kind, _ in kinds(1)} == algorithms


@pytest.mark.parametrize("kind", dict(kinds(0)))
def test_keys_of_an_environment(kind):
    environment = kind if kind in ranges.ENVIRONMENTS else "gap"
    algorithm = next(iter(ranges.ALGORITHMS.get(environment, {"linucb": ""})))
    text = ranges.experiment("gap", "linucb") if environment == "sphere" else ranges.experiment(environment, algorithm)
    sets = [] if kind == environment and kind != "sphere" else ["--set", f'environment.kind="{kind}"']
    expected = program.expected(program.refusal(text, *sets, "--set", "environment.nonsense=1"))
    listed = {name for name in keys(toml_keys.fields(dict(kinds(0))[kind])) if "." not in name}
    assert expected and listed == set(expected)


@pytest.mark.parametrize("kind", dict(kinds(1)))
def test_keys_of_an_algorithm(kind):
    environment = next(name for name, known in ranges.ALGORITHMS.items() if kind in known)
    expected = program.expected(program.refusal(ranges.experiment(environment, kind), "--set", "algorithm.nonsense=1"))
    listed = {name for name in keys(toml_keys.fields(dict(kinds(1))[kind])) if "." not in name}
    assert expected and listed == set(expected)


def test_keys_of_the_whole_file():
    whole = rust.resolve("ExperimentToml", "crates/lab/src/experiment/mod.rs")
    expected = program.expected(program.refusal(ranges.experiment("gap", "linucb"), "--set", "nonsense=1"))
    assert keys(toml_keys.fields(whole, nested=False)) == set(expected)


@pytest.mark.parametrize("key, name, path", [("rule", *toml_keys.RULE[1:]), ("schedule", "Schedule", "crates/core/src/release/schedule.rs")])
def test_values_with_parameters(key, name, path):
    expected = program.expected(program.refusal(ranges.experiment("gap", "joint"), "--set", f'algorithm.{key}="nonsense"'))
    assert expected and toml_keys.values(rust.resolve(name, path)) == expected


def test_a_range_is_what_the_program_asks_for():
    rows = list(toml_keys.fields(rust.resolve("LoopParams", toml_keys.LOOPS), ask=ranges.ask_loop))
    assert any(row.startswith("| `privacy.epsilon` | a finite number above 0") for row in rows)
    assert any(row.startswith("| `baseline.share` | a share from 0 to below 1 |") for row in rows)
