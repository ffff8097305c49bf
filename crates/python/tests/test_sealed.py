"""A device of a loop with a shuffler: the golden visits of `vectors/sealed`, whose sealed bytes Rust and JavaScript make, and the count of reports."""

import json
import os
import pathlib

import pytest

import reticent

FOLDER = pathlib.Path(__file__).parents[3] / "vectors" / "sealed"
MODES = ("sealed", "sum")


def golden(mode, name):
    return (FOLDER / mode / name).read_bytes()


def case(mode):
    return json.loads(golden(mode, "case.json"))


def device(mode, ledger=None, **limits):
    limits = {"most_epsilon": 4.0, "most_delta": 1e-3, **limits}
    messages = [golden(mode, f"{name}.json") for name in ("plan", "sealing", "shuffler")]
    person = reticent.Person.from_sealing(*messages, "mixed", ledger=ledger, in_memory=ledger is None, **limits)
    person.set_model(golden(mode, "model.json"))
    return person


def visit(person, mode):
    return person.report(person.choose(case(mode)["context"], case(mode)["actions"]), 1.0)


@pytest.mark.parametrize("mode", MODES)
def test_the_golden_visit_gives_the_form_that_rust_and_javascript_give(tmp_path, mode):
    path, visited = tmp_path / "mixed.ledger", case(mode)
    person = device(mode, path)
    assert person.protocol == json.loads(golden(mode, "sealing.json"))["protocol"]
    choice = reticent.Choice(golden(mode, "choice.bin"))
    sealed = person.report(choice, visited["reward"], now=visited["seconds"])
    assert person.ledger == path.read_bytes() == golden(mode, "ledger.bin")
    assert person.reports_left() == visited["left"]
    # Version, protocol, model and key; the keys of the rest are drawn by the system, and only tests of Rust and JavaScript can give them.
    kept = golden(mode, "report.bin")
    assert (len(sealed), sealed[:73]) == (len(kept), kept[:73]) and sealed[73:] != kept[73:]


@pytest.mark.parametrize("mode", MODES)
def test_devices_on_one_file_share_one_count_for_ever(tmp_path, mode):
    path, most = tmp_path / "mixed.ledger", {"sealed": 1, "sum": 3}[mode]
    persons = [device(mode, path) for _ in range(most + 1)]
    made = [visit(person, mode) for person in persons[:most]]
    assert len(set(made)) == most
    kept = path.read_bytes()
    for moment in (0, 4_000_000_000):
        with pytest.raises(reticent.ReticentError, match=f"reports left: got 0; at most {most}"):
            persons[-1].report(persons[-1].choose({}, [{"topic": "news"}]), 1.0, now=moment)
    assert path.read_bytes() == kept, "a refusal stores nothing"


def test_choices_of_another_protocol_are_refused_and_nothing_is_counted():
    person = device("sealed")
    with pytest.raises(reticent.ReticentError, match="choice: got one of protocol"):
        person.report(device("sum").choose({}, [{"topic": "news"}]), 1.0)
    with pytest.raises(reticent.ReticentError, match="model: got"):
        person.set_model(golden("sum", "model.json"))
    assert person.reports_left() == 1 and person.ledger is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_copy_reports_nothing():
    person = device("sum")
    child = os.fork()
    if child == 0:
        try:
            visit(person, "sum")
        except reticent.ReticentError as error:
            os._exit(0 if "a forked copy" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    visit(person, "sum")
