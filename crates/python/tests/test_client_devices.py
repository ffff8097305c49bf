"""Devices of `reticent.Client` against the built program: counts, limits, the shuffler, and data that never leave the device."""

import inspect
import json
import pathlib
import re
import urllib.error
import urllib.request

import pytest

import reticent
from client_loops import BASE_POINT, LOOPS, MARK, TOPICS, keys, service  # noqa: F401
from reticent.client import Flushed
from service import Between, Process, wait_until


def reports_of(service, key, loop):
    return reticent.Model(service.get(key, f"/v1/loops/{loop}/model")).reports


def test_a_device_chooses_counts_and_reports_and_nothing_raw_leaves(service, keys, tmp_path):
    with Between(service) as between:
        client = reticent.Client(between.address, "direct", key=keys["direct"], timeout=10)
        device = client.device(tmp_path / "anna", level=1)
        assert device.reports_left == 3 and not device.choose({"age": 31}, TOPICS).fallback
        chosen = device.choose({"age": 31, "name": MARK}, [{"id": "a", "features": {"topic": "news"}}, {"topic": "sport"}])
        # The answer is lost three times: the same bytes wait, and are taken once.
        between.plan = ["drop"] * 3
        report = device.report(chosen, 1.0)
        assert device.unsent == [report] and device.reports_left == 2
        again = client.device(tmp_path / "anna", level=1)
        assert again.unsent == [report] and again.reports_left == 2, "another process of the installation"
        assert again.flush() == Flushed(taken=1, refused=0, waiting=0)
        assert device.flush() == Flushed(0, 0, 0)
        bodies = {body for _, path, _, body in between.seen if path.endswith("/reports/batch")}
        assert bodies == {b'{"reports":[' + report + b"]}"}
        for _ in range(2):
            again.report(again.choose({"age": 31}, TOPICS), 0.0)
        with pytest.raises(reticent.ReticentError, match="reports left: got 0"):
            again.report(again.choose({"age": 31}, TOPICS), 0.0)
        assert again.unsent == []
        wait_until(lambda: reports_of(service, keys["direct"], "direct") == 3)
        # No person's context, and nothing that distinguishes devices but their reports.
        for _, _, headers, body in between.seen:
            assert MARK.encode() not in body and b"age" not in body
            assert set(headers) <= {"Host", "Accept-Encoding", "Accept", "Authorization", "Content-Type", "Content-Length"}


def test_reports_wait_while_the_service_is_away_and_bad_ones_are_dropped(service, keys, tmp_path):
    with Between(service) as between:
        client = reticent.Client(between.address, "direct", key=keys["direct"], timeout=10, retries=0)
        between.plan = ["pass", 503]
        device = client.device(tmp_path)
        chosen = device.choose({"age": 31}, TOPICS)
        assert chosen.fallback and chosen.index == 0 and device.report(chosen, 1.0) is None, "there is no model yet"
        device.refresh()
        between.plan = [503, 503]
        device.report(device.choose({"age": 31}, TOPICS), 1.0)
        (folder,) = tmp_path.glob("*/unsent")
        (folder / "0-damaged.report").write_bytes(b'{"kind":"report"}')
        assert device.flush() == Flushed(taken=0, refused=0, waiting=2)
        between.plan = []
        assert device.flush() == Flushed(taken=1, refused=1, waiting=0)
        between.plan = [403]
        with pytest.raises(reticent.ServiceError):
            device.report(device.choose({"age": 31}, TOPICS), 1.0)
        assert len(device.unsent) == 1, "a wrong key loses no report"


def test_a_loop_beyond_the_persons_limits_gets_nothing(service, keys, tmp_path):
    with Between(service) as between:
        client = reticent.Client(between.address, "direct", key=keys["direct"], timeout=10)
        for limit, words in [
            ({"most_epsilon": 3.0}, "epsilon: got 4; expected at most 3"),
            ({"most_epsilon": 4.0, "level": 1}, "epsilon: got 8; expected at most 4"),
            ({"most_delta": 1e-7}, "delta: got 0.000001; expected at most 0.0000001"),
            ({"most_reports": 2}, "visits: got 3; expected at most 2"),
        ]:
            with pytest.raises(reticent.ReticentError, match=words):
                client.device(tmp_path, **limit)
        assert {(method, path) for method, path, *_ in between.seen} == {("GET", "/v1/loops/direct/protocol")}
    assert not list(tmp_path.glob("*/ledger*"))
    assert client.device(tmp_path, most_epsilon=4.0).reports_left == 3


def test_a_clients_limits_are_those_of_every_device_unless_others_are_given():
    """Compiled functions do not show their defaults."""
    core = (pathlib.Path(__file__).parents[3] / "crates" / "device" / "src" / "protocol" / "limits.rs").read_text()
    constants = {name: float(value) for name, value in re.findall(r"pub const (\w+): \w+ = ([\w.-]+);", core)}
    given = {name: parameter.default for name, parameter in inspect.signature(reticent.Client.device).parameters.items()}
    names = {"EPSILON": "most_epsilon", "DELTA": "most_delta", "REPORTS": "most_reports", "PERIOD": "shortest_period"}
    assert {constant: given[name] for constant, name in names.items()} == constants


@pytest.mark.parametrize(("loop", "visits"), [("mixed", 1), ("summed", 4)])
def test_noise_behind_a_shuffler_is_priced_by_the_devices_own_accountant(service, keys, tmp_path, loop, visits):
    plan, sealing = (json.loads(service.get(keys[loop], f"/v1/loops/{loop}/{part}")) for part in ("protocol", "sealing"))

    mixed = json.dumps({"public_key": BASE_POINT, **sealing}).encode()

    def join(loop=loop, plan_of=(), says=(), **limits):
        texts = [json.dumps({**kept, **dict(changed)}).encode() for kept, changed in ((plan, plan_of), (sealing, says))]
        return reticent.Person.from_sealing(*texts, mixed, loop, in_memory=True, **{"most_delta": 1e-3, "most_epsilon": 4.0, **limits})

    person = join()
    assert (person.protocol, person.loop, person.reports_left(), person.ledger) == (sealing["protocol"], loop, visits, None)
    assert len(person.protocol) == 64
    for limits, words in [
        ({"most_epsilon": 3.5}, "epsilon: got .*; expected at most 3.5"),
        ({"most_epsilon": float("nan")}, "epsilon: got .*; expected at most NaN"),
        ({"most_delta": 1e-5}, "epsilon: got .*; expected at most 4; give another limit"),
        ({"most_reports": visits - 1}, f"visits: got {visits}; expected at most {visits - 1}"),
        ({"says": {"batch": 4}}, "epsilon: got .*; expected at most 4; give another limit"),
        ({"says": {"honest": 1}}, "epsilon: got .*; expected at most 4; give another limit"),
        # Everything that was priced is in the hash: the shuffler would refuse these reports.
        ({"says": {"batch": 80}}, "protocol: got"),
        ({"says": {"generation": "1"}}, "protocol: got"),
        ({"plan_of": {"delta": 2 * plan["delta"]}} if plan["delta"] else {"plan_of": {"levels": {"public": [0.5]}}}, "protocol: got"),
        ({"loop": "other"}, "protocol: got"),
        ({"says": {"batch": None}}, "batch: got nothing or another form"),
        # A message that shows features, and one whose maker claims something.
        ({"plan_of": {"public_arms": True}}, "features never leave"),
        ({"plan_of": {"claim": CLAIM}}, "claim: got a value"),
    ]:
        with pytest.raises(reticent.ReticentError, match=words):
            join(**limits)
    # The client asks for it, before anything is stored.
    client = reticent.Client(service.address, loop, key=keys[loop], timeout=10)
    with pytest.raises(reticent.ReticentError, match="level: got a value; .*leave it out"):
        client.device(tmp_path, shuffler="http://127.0.0.1:9", level=0, most_delta=1e-3)
    assert not list(tmp_path.iterdir())


CLAIM = {"epsilon": 1.0, "delta": 1e-6, "source": "its maker"}


@pytest.fixture(params=["mixed", "summed"])
def shuffler(service, tmp_path, request):
    """The shuffler of a loop, when it has heard from its server."""
    secret, only = tmp_path / "shuffle.key", tmp_path / "loops.toml"
    secret.write_text(service.key("shuffle", request.param))
    only.write_text(LOOPS[LOOPS.index(f"[loop.{request.param}]") :].partition("\n\n")[0])
    running = Process(
        "shuffle", "--config", only, "--data", tmp_path / "mixed", "--server", service.address, "--key-file", secret, "--listen", "127.0.0.1:0"
    )
    running.loop, running.visits = request.param, {"mixed": 1, "summed": 4}[request.param]
    wait_until(lambda: ready(running.address))
    yield running
    assert running.stop() == 0


def ready(address):
    try:
        return urllib.request.urlopen(f"{address}/readyz", timeout=30).status == 200
    except urllib.error.HTTPError:
        return False


def test_sealed_reports_go_through_the_shuffler(service, keys, tmp_path, shuffler):
    loop, visits = shuffler.loop, shuffler.visits
    with Between(shuffler) as between:
        client = reticent.Client(service.address, loop, key=keys[loop], timeout=10, retries=0)
        with pytest.raises(reticent.ReticentError, match="epsilon: got .*; expected at most 3.5"):
            client.device(tmp_path / "dear", shuffler=shuffler.address, most_epsilon=3.5, most_delta=1e-3)
        assert not (tmp_path / "dear").exists()
        made = []
        for number in range(8 // visits):
            device = client.device(tmp_path / str(number), shuffler=between.address, most_delta=1e-3)
            for left in reversed(range(visits)):
                report = device.report(device.choose({}, TOPICS), 1.0)
                assert device.reports_left == left
                # A model that the shuffler has not heard of is answered with 503: the same bytes are sent again.
                wait_until(lambda: device.flush().waiting == 0)
                made.append(report)
            assert device.unsent == []
            with pytest.raises(reticent.ReticentError, match="reports left: got 0"):
                device.report(device.choose({}, TOPICS), 1.0)
            # After an answer that was lost: it was taken before.
            (unsent,) = (tmp_path / str(number)).glob("*/unsent")
            (unsent / "0.sealed").write_bytes(report)
            # A report made for the server alone never goes to the shuffler.
            (unsent / "0.report").write_bytes(b"{}")
            between.plan = ["drop"]
            assert device.flush() == Flushed(taken=0, refused=0, waiting=1)
            assert device.flush() == Flushed(taken=1, refused=0, waiting=0)
        assert len(set(made)) == 8 and len(set(map(len, made))) == 1, "all reports have one length"
        wait_until(lambda: reports_of(service, keys[loop], loop) == 8)
        # The shuffler gets no key, and nothing but the bytes.
        assert {body for _, path, _, body in between.seen if path.endswith("/reports")} == set(made)
        assert not any("Authorization" in headers for *_, headers, _ in between.seen)
        # One that the shuffler cannot take yet keeps no other waiting, and a sender at its cap waits with all.
        for number in range(2):
            (unsent / f"{number}.sealed").write_bytes(made[number])
        between.plan = [429]
        assert device.flush() == Flushed(taken=0, refused=0, waiting=2) and between.plan == []
        between.plan = [503]
        assert device.flush() == Flushed(taken=1, refused=0, waiting=1) and device.unsent == [made[0]]
        assert device.flush() == Flushed(taken=1, refused=0, waiting=0)
        # A report that is changed on its way is refused for good, and dropped.
        (unsent / "0.sealed").write_bytes(made[0][:-1])
        assert device.flush() == Flushed(taken=0, refused=1, waiting=0)


def test_the_servers_own_address_is_no_shuffler(service, keys, tmp_path):
    client = reticent.Client(service.address, "mixed", key=keys["mixed"])
    with pytest.raises(reticent.ReticentError, match="shuffler: got http.*, the address of the server; .*expected the address of"):
        client.device(tmp_path, shuffler=service.address + "/", most_delta=1e-3)
    with pytest.raises(reticent.ReticentError, match="shuffler: missing"):
        client.device(tmp_path)


def test_a_sealed_report_is_counted_in_the_file_before_it_is_given_out(service, keys, tmp_path):
    plan, sealing, model = (service.get(keys["summed"], f"/v1/loops/summed/{part}") for part in ("protocol", "sealing", "model"))
    ledger, protocol = tmp_path / "ledger", json.loads(sealing)["protocol"]

    def join(key=BASE_POINT):
        shuffler = json.dumps({"public_key": key, "protocol": protocol}).encode()
        person = reticent.Person.from_sealing(plan, sealing, shuffler, "summed", ledger=ledger, most_delta=1e-3)
        person.set_model(model)
        return person

    for unreadable in (None, "", 32 * "zz", BASE_POINT[2:]):
        with pytest.raises(reticent.ReticentError, match="public_key: got"):
            join(unreadable)
    person = join()
    choice = person.choose({}, TOPICS)
    assert not ledger.exists()
    person.report(choice, 1.0)
    assert person.reports_left() == 3 and person.ledger == ledger.read_bytes()
    # Two devices share the count, and the choice of one is reported by the other.
    other = join()
    for left in (2, 1, 0):
        other.report(reticent.Choice(bytes(choice)), 1.0)
        assert person.reports_left() == other.reports_left() == left
    last = ledger.read_bytes()
    with pytest.raises(reticent.ReticentError, match="reports left: got 0; at most 4"):
        person.report(choice, 1.0)
    assert ledger.read_bytes() == last
    for damaged in (last[:7], last[:-1], b""):
        ledger.write_bytes(damaged)
        with pytest.raises(reticent.ReticentError):
            person.report(choice, 1.0)
