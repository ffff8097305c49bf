"""A person's half from a loop's protocol: the golden visit of `vectors/device`, which Rust and JavaScript make too, and the count of reports."""

import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import reticent

FOLDER = pathlib.Path(__file__).parents[3] / "vectors" / "device"
CASE = json.loads((FOLDER / "case.json").read_text())
NOW = CASE["seconds"]
DAY = 86_400


def golden(name):
    return (FOLDER / name).read_bytes()


def device(ledger=None, **options):
    half = reticent.Person.from_protocol(golden("protocol.json"), ledger=ledger, **options)
    half.set_model(golden("model.json"))
    return half


def visit(half, now=NOW):
    return half.report(half.choose(CASE["context"], CASE["actions"]), 1.0, now=now)


@pytest.mark.parametrize(("name", "kind"), [("model", reticent.Model), ("report", reticent.Report)])
def test_messages_are_read_and_written_with_the_same_bytes(name, kind):
    message = golden(f"{name}.json")
    assert bytes(kind(message)) == message
    with pytest.raises(ValueError, match=name):
        kind(message[:-1])


def test_the_golden_visit_gives_the_bytes_that_rust_and_javascript_give(tmp_path):
    path = tmp_path / "home.ledger"
    half = device(path, level=CASE["level"])
    assert half.protocol == golden("protocol.json")
    # By Thompson sampling the action is drawn, by one of 64 members: 1,000 draws miss it with a probability below 1e-6.
    index = CASE["index"]
    choices = (half.choose(CASE["context"], CASE["actions"]) for _ in range(1_000))
    choice = next(choice for choice in choices if choice.index == index)
    assert bytes(choice) == golden("choice.bin")
    assert reticent.Choice(golden("choice.bin")) == choice == pickle.loads(pickle.dumps(choice))
    report = half.report(choice, CASE["reward"], now=NOW)
    assert half.ledger == path.read_bytes() == golden("ledger.bin")
    assert half.reports_left(now=NOW) == CASE["left"]
    # The noise is another: only tests of Rust and JavaScript can give the keys. All else is the same.
    made, kept = json.loads(bytes(report)), json.loads(golden("report.json"))
    for message in (made, kept):
        del message["id"], message["values"]
    assert made == kept
    assert len(report.values) == len(reticent.Report(golden("report.json")).values)


def test_the_level_is_the_smallest_epsilon_unless_the_person_chooses_another():
    half = device()
    assert (half.loop, half.levels, half.level, half.reports_per_period) == ("home", [1.0, 4.0, 8.0], 0, 3)
    half.set_level(2)
    assert half.level == 2
    with pytest.raises(reticent.ReticentError, match="level is 3"):
        half.set_level(3)
    assert half.level == 2


def test_halves_on_one_file_share_one_count_and_a_period_ends(tmp_path):
    path = tmp_path / "home.ledger"
    first, second = device(path), device(path, level=1)
    assert [bytes(visit(half)) != b"" for half in (first, second, first)] == [True] * 3
    kept = path.read_bytes()
    for half in (first, second, device(path)):
        for moment in (NOW, NOW - 90 * DAY):
            with pytest.raises(reticent.ReticentError, match="reports left is 0: at most 3"):
                visit(half, moment)
    assert path.read_bytes() == kept, "a refusal stores nothing"
    visit(second, NOW + 30 * DAY)
    assert first.reports_left(now=NOW + 30 * DAY) == 2


def test_processes_that_report_at_once_share_one_count(tmp_path):
    program = f"""
import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import reticent, test_device
half = test_device.device({str(tmp_path / "home.ledger")!r})
made = 0
for _ in range(3):
    try:
        test_device.visit(half); made += 1
    except reticent.ReticentError as error:
        assert "reports left is 0" in str(error), error
print(made)
"""
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(3)]
    assert sum(int(process.communicate()[0]) for process in processes) == 3


def test_what_is_refused_counts_nothing(tmp_path):
    path = tmp_path / "home.ledger"
    with pytest.raises(reticent.ReticentError, match="protocol"):
        reticent.Person.from_protocol(golden("protocol.json").replace(b'"home"', b'"homes"'))
    half = reticent.Person.from_protocol(golden("protocol.json"), ledger=path)
    with pytest.raises(reticent.ReticentError, match="model is missing"):
        half.choose(CASE["context"], CASE["actions"])
    half.set_model(golden("model.json"))
    with pytest.raises(reticent.ReticentError, match="actions is \\[\\]"):
        half.choose(CASE["context"], [])
    choice = half.choose(CASE["context"], CASE["actions"])
    with pytest.raises(reticent.ReticentError, match="reward"):
        half.report(choice, float("nan"), now=NOW)
    assert not path.exists() and half.ledger is None
    path.write_bytes(golden("ledger.bin")[:-1])
    with pytest.raises(reticent.ReticentError):
        half.report(choice, 1.0, now=NOW)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_copy_reports_nothing(tmp_path):
    half = device(tmp_path / "home.ledger")
    child = os.fork()
    if child == 0:
        try:
            visit(half)
        except reticent.ReticentError as error:
            os._exit(0 if "a forked copy" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    visit(half)
