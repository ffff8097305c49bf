"""A device from a loop's protocol: the golden visit of `vectors/device`, which Rust and JavaScript make too, and the count of reports."""

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
    person = reticent.Person.from_protocol(golden("protocol.json"), "home", ledger=ledger, in_memory=ledger is None, **options)
    person.set_model(golden("model.json"))
    return person


def visit(person, now=NOW):
    return person.report(person.choose(CASE["context"], CASE["actions"]), 1.0, now=now)


@pytest.mark.parametrize(("name", "kind"), [("model", reticent.Model), ("report", reticent.Report)])
def test_messages_are_read_and_written_with_the_same_bytes(name, kind):
    message = golden(f"{name}.json")
    assert bytes(kind(message)) == message
    with pytest.raises(ValueError, match=name):
        kind(message[:-1])


def test_the_golden_visit_gives_the_bytes_that_rust_and_javascript_give(tmp_path):
    path = tmp_path / "home.ledger"
    person = device(path, level=CASE["level"])
    assert person.protocol == golden("protocol.json")
    # By Thompson sampling the action is drawn, by one of 64 members: 1,000 draws miss it with a probability below 1e-6.
    index = CASE["index"]
    choices = (person.choose(CASE["context"], CASE["actions"]) for _ in range(1_000))
    choice = next(choice for choice in choices if choice.index == index)
    assert bytes(choice) == golden("choice.bin")
    assert reticent.Choice(golden("choice.bin")) == choice == pickle.loads(pickle.dumps(choice))
    report = person.report(choice, CASE["reward"], now=NOW)
    assert person.ledger == path.read_bytes() == golden("ledger.bin")
    assert person.reports_left(now=NOW) == CASE["left"]
    # The noise is another: only tests of Rust and JavaScript can give the keys. All else is the same.
    made, kept = json.loads(bytes(report)), json.loads(golden("report.json"))
    for message in (made, kept):
        del message["id"], message["values"]
    assert made == kept
    assert len(report.values) == len(reticent.Report(golden("report.json")).values)


def test_records_give_the_choices_that_rust_and_javascript_make():
    person = device()
    records = json.loads((FOLDER / "records.json").read_text())
    assert len(records) > 10
    for record in records:
        context, action = (None if type(part) in (str, int) else part for part in (record["context"], record["action"]))
        assert bytes(person.choose(context, [action])).hex() == record["choice"], record


def test_the_level_is_the_smallest_epsilon_unless_the_person_chooses_another():
    person = device()
    assert (person.loop, person.levels, person.level, person.reports_per_period) == ("home", [1.0, 4.0, 8.0], 0, 3)
    person.set_level(2)
    assert person.level == 2
    with pytest.raises(reticent.ReticentError, match="level: got 3"):
        person.set_level(3)
    assert person.level == 2


def test_devices_on_one_file_share_one_count_and_a_period_ends(tmp_path):
    path = tmp_path / "home.ledger"
    first, second = device(path), device(path, level=1)
    assert [bytes(visit(person)) != b"" for person in (first, second, first)] == [True] * 3
    kept = path.read_bytes()
    for person in (first, second, device(path)):
        for moment in (NOW, NOW - 90 * DAY):
            with pytest.raises(reticent.ReticentError, match="reports left: got 0; at most 3"):
                visit(person, moment)
    assert path.read_bytes() == kept, "a refusal stores nothing"
    visit(second, NOW + 30 * DAY)
    assert first.reports_left(now=NOW + 30 * DAY) == 2


def test_processes_that_report_at_once_share_one_count(tmp_path):
    program = f"""
import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import reticent, test_device
person = test_device.device({str(tmp_path / "home.ledger")!r})
made = 0
for _ in range(3):
    try:
        test_device.visit(person); made += 1
    except reticent.ReticentError as error:
        assert "reports left: got 0" in str(error), error
print(made)
"""
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(3)]
    assert sum(int(process.communicate()[0]) for process in processes) == 3


def test_what_is_refused_counts_nothing(tmp_path):
    path = tmp_path / "home.ledger"
    with pytest.raises(reticent.ReticentError, match="protocol"):
        reticent.Person.from_protocol(golden("protocol.json").replace(b'"home"', b'"homes"'), "homes", ledger=path)
    person = reticent.Person.from_protocol(golden("protocol.json"), "home", ledger=path)
    with pytest.raises(reticent.ReticentError, match="model: missing"):
        person.choose(CASE["context"], CASE["actions"])
    person.set_model(golden("model.json"))
    with pytest.raises(reticent.ReticentError, match="actions: got \\[\\]"):
        person.choose(CASE["context"], [])
    choice = person.choose(CASE["context"], CASE["actions"])
    with pytest.raises(reticent.ReticentError, match="reward"):
        person.report(choice, float("nan"), now=NOW)
    assert not path.exists() and person.ledger is None
    path.write_bytes(golden("ledger.bin")[:-1])
    with pytest.raises(reticent.ReticentError):
        person.report(choice, 1.0, now=NOW)


def test_the_count_is_kept_unless_its_loss_is_asked_for(tmp_path):
    for options, found in [({}, "missing"), ({"ledger": tmp_path / "home.ledger", "in_memory": True}, "got a path beside in_memory")]:
        with pytest.raises(reticent.ReticentError, match=f"ledger: {found}; expected the path of .*in_memory=True"):
            reticent.Person.from_protocol(golden("protocol.json"), "home", **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loop": "shop"}, 'loop: got "home"; it is not the loop that was asked for'),
        ({"most_delta": 1e-7}, "delta: got 0.000001; expected at most 0.0000001"),
        ({"most_reports": 2}, "visits: got 3; expected at most 2"),
        ({"shortest_period": 31 * DAY}, "period: got 2592000; expected at least 2678400"),
        ({"most_epsilon": 0.5}, "epsilon: got 1; expected at most 0.5"),
        ({"most_epsilon": 4.0, "level": 2}, "epsilon: got 8; expected at most 4"),
        ({"most_reports": -1}, "most_reports: got -1"),
    ],
)
def test_a_protocol_beyond_the_persons_limits_is_refused(options, words):
    options = {"loop": "home", **options}
    with pytest.raises(reticent.ReticentError) as refused:
        reticent.Person.from_protocol(golden("protocol.json"), in_memory=True, **options)
    assert str(refused.value).startswith(words)


def test_no_level_beyond_the_persons_limits_is_chosen_later():
    person = device(most_epsilon=4.0)
    person.set_level(1)
    with pytest.raises(reticent.ReticentError, match="epsilon: got 8; expected at most 4"):
        person.set_level(2)
    assert person.level == 1


class Unreadable:
    def to_dict(self):
        raise RuntimeError("no")


class Interrupted:
    def to_dict(self):
        raise KeyboardInterrupt


def test_no_value_of_a_person_makes_a_choice_fail():
    person = device()

    def features(context):
        return person.choose(context, [{"topic": "news"}]).features

    tower = {"age": 31}
    for _ in range(500):
        tower = {"n": tower}
    plain = features({})
    for strange in (Unreadable(), object(), tower, float("nan"), {1: 2}, [[]], b"x", 1j):
        assert features({"age": strange}) == plain
    assert features({"age": 10**5000}) == plain, "Python itself refuses that many digits"
    assert features({"age": 10**30}) == features({"age": float("inf")}) == features({"age": 80})
    assert features({"age": -(10**30)}) == features({"age": 18})
    # Half a pair of surrogates is one character that is not known, as in JavaScript.
    assert features({"place": {"country": "a\ud800"}}) == features({"place": {"country": "a\ufffd"}})
    assert features({"device": "\udc00"}) == plain
    with pytest.raises(KeyboardInterrupt):
        person.choose({"age": Interrupted()}, [{"topic": "news"}])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_copy_reports_nothing(tmp_path):
    person = device(tmp_path / "home.ledger")
    child = os.fork()
    if child == 0:
        try:
            visit(person)
        except reticent.ReticentError as error:
            os._exit(0 if "a forked copy" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    visit(person)
