"""`reticent.Client` against the built program: counts, repetitions, fall-backs, and data that never leave the device."""

import inspect
import json
import os
import pathlib
import pickle
import re
import traceback
import urllib.error
import urllib.request

import numpy
import pytest

import reticent
from reticent.client import Flushed
from service import Between, Process, Service, wait_until

LOOPS = """
[loop.home]
privacy = { epsilon = 1.0, delta = 1e-6, visits = 100, per = "30 days" }
learner = { tick = "200 ms", forget = "1 hour" }
reward = { range = [0, 1], window = "3 seconds", combine = "sum" }
retain = "1 day"
[loop.home.context]
age = { range = [18, 80] }
[loop.home.action]
topic = { categories = ["news", "sport"] }

[loop.direct]
trust = "device"
privacy = { epsilon = 8.0, delta = 1e-6, visits = 3, per = "ever" }
device = { levels = [4.0, 8.0] }
learner = { tick = "100 ms" }
[loop.direct.context]
age = { range = [18, 80] }
[loop.direct.action]
topic = { categories = ["news", "sport"] }

[loop.mixed]
trust = "shuffler"
privacy = { epsilon = 4.0, delta = 1e-3, visits = 1, per = "ever" }
learner = { tick = "100 ms" }
shuffle = { batch = 8, cap = 8 }
[loop.mixed.action]
topic = { categories = ["news", "sport"] }

[loop.summed]
trust = "shuffler"
privacy = { epsilon = 4.0, delta = 1e-3, visits = 4, per = "ever" }
learner = { tick = "100 ms" }
shuffle = { batch = 8, cap = 8, mode = "sum" }
[loop.summed.action]
topic = { categories = ["news", "sport"] }
"""
ACTIONS = [{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}]
TOPICS = [{"topic": "news"}, {"topic": "sport"}]
# A public key that every implementation takes.
BASE_POINT = "09" + 31 * "00"
# An address without a listener: port 9 is kept free of services.
AWAY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("s"), LOOPS)
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def keys(service):
    return {loop: service.key("decide,reward" if loop == "home" else "device", loop) for loop in ("home", "direct", "mixed", "summed")}


@pytest.fixture(scope="module")
def admin(service):
    return service.key("admin")


def reward_of(service, admin, note):
    """The reward with which the event with this note in its context was learnt, when its window has ended. There must be one."""

    def closed():
        rows = map(json.loads, service.get(admin, "/v1/loops/home/events/export").splitlines())
        found = [row for row in rows if (row["context"] or {}).get("note") == note]
        return found if found and all(row["reward"] is not None for row in found) else None

    (row,) = wait_until(closed)
    return row["reward"]


def test_rank_requests_rewards_and_activations_are_counted(service, keys, admin):
    with reticent.Client(service.address, "home", key=keys["home"]) as client:
        answer = client.rank(ACTIONS, context={"age": numpy.int64(31), "note": "plain"}, person="anna")
        assert not answer.fallback and answer.reason is None
        assert sorted(each.id for each in answer.ranking) == ["a", "b"] and answer.ranking[0].id == answer.action
        assert sum(each.probability for each in answer.ranking) == pytest.approx(1)
        assert client.reward(answer.event_id, 0.25) and client.reward(answer.event_id, 0.5)
        assert client.reward(answer.event_id, 0.125, idempotency_key="once") and client.reward(answer.event_id, 0.125, idempotency_key="once")
        shown = client.rank(ACTIONS, defer=True, event_id="shown / 1", exclude={"a"}, context={"note": "shown"}, person="anna")
        assert (shown.action, shown.event_id) == ("b", "shown / 1")
        assert client.activate(shown.event_id) and client.reward(shown.event_id, numpy.float32(1))
    assert reward_of(service, admin, "plain") == 0.875
    assert reward_of(service, admin, "shown") == 1.0
    with pytest.raises(reticent.ServiceError) as late:
        client.reward(answer.event_id, 1)
    assert (late.value.status, late.value.field, late.value.temporary) == (410, "event_id", False)


def test_a_lost_answer_is_asked_for_again_and_counted_once(service, keys, admin):
    with Between(service, ["drop", "drop"]) as between:
        client = reticent.Client(between.address, "home", key=keys["home"], timeout=10)
        answer = client.rank(ACTIONS, context={"note": "dropped"}, person="berta")
        assert not answer.fallback and len(between.seen) == 3
        between.plan = ["drop", "drop"]
        assert client.reward(answer.event_id, 0.25)
        ranks, rewards = between.seen[:3], between.seen[3:]
        assert len(rewards) == 3
        for requests in (ranks, rewards):
            assert len({body for *_, body in requests}) == 1, "the same bytes every time"
        # The head of the last answer is echoed; the first rank request had seen none.
        assert "Reticent-Head" not in ranks[0][2] and rewards[0][2]["Reticent-Head"]
        between.plan = ["drop"] * 9
        lost = client.rank(ACTIONS, context={"note": "lost"}, person="berta")
        assert lost.fallback and len(between.seen) == 9, "as often as was asked for"
        between.plan, before = [], len(between.seen)
        assert not client.reward(lost.event_id, 1) and not client.activate(lost.event_id)
        assert len(between.seen) == before, "what the service would misunderstand is not sent"
        # The same rank request again: the answer that was lost, and its rewards are sent.
        assert not client.rank(ACTIONS, context={"note": "lost"}, person="berta", event_id=lost.event_id).fallback
        assert client.reward(lost.event_id, 0.5)
    assert reward_of(service, admin, "dropped") == 0.25
    assert reward_of(service, admin, "lost") == 0.5


@pytest.mark.parametrize(("status", "requests"), [(429, 2), (502, 2), (503, 2), (504, 2), (500, 1)])
def test_what_may_pass_is_repeated_after_a_pause(service, keys, status, requests):
    with Between(service, [status]) as between:
        answer = reticent.Client(between.address, "home", key=keys["home"], timeout=10).rank(ACTIONS)
        assert (len(between.seen), answer.fallback) == (requests, requests == 1)


def test_a_pause_beyond_the_time_is_not_waited_for(service, keys):
    with Between(service, [429, 429]) as between:
        answer = reticent.Client(between.address, "home", key=keys["home"], timeout=0.5).rank(ACTIONS)
        assert answer.fallback and answer.reason.status == 429 and len(between.seen) == 1


def test_the_time_is_that_of_the_whole_answer(service, keys):
    """Every byte comes in time, and all of them do not: a limit for each would take the answer."""
    with Between(service, ["slow"]) as between:
        answer = reticent.Client(between.address, "home", key=keys["home"], timeout=0.5, retries=0).rank(ACTIONS)
        assert answer.fallback and "TimeoutError" in str(answer.reason)


def test_without_the_service_the_first_action_that_is_allowed_is_answered():
    client = reticent.Client(AWAY, "home", key="rt_x", timeout=1)
    answer = client.rank(ACTIONS, exclude=["a"], event_id="mine")
    assert (answer.action, answer.event_id, answer.fallback, answer.ranking) == ("b", "mine", True, ())
    assert isinstance(answer.reason, reticent.UnreachableError) and "ConnectionRefusedError" in str(answer.reason)
    assert client.reward("mine", 1) is False and client.activate("mine") is False
    with pytest.raises(reticent.UnreachableError):
        client.rank(ACTIONS, exclude=["a", "b"])
    with pytest.raises(reticent.UnreachableError):
        client.reward("another", 1)


def test_refusals_are_raised_with_the_services_words(service, keys):
    reader = service.key("read")
    for key, status in [("rt_unknown", 401), (None, 401), (reader, 403)]:
        with pytest.raises(reticent.ServiceError) as refused:
            reticent.Client(service.address, "home", key=key).rank(ACTIONS)
        assert refused.value.status == status and refused.value.remedy
    client = reticent.Client(service.address, "home", key=keys["home"])
    with pytest.raises(reticent.ServiceError) as refused:
        client.rank(ACTIONS, exclude=["nobody"])
    assert (refused.value.status, refused.value.temporary) == (422, False)
    assert refused.value.field == "exclude" and refused.value.value and refused.value.remedy
    assert str(refused.value).count(refused.value.remedy) == 1
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.status, again.problem, str(again)) == (422, refused.value.problem, str(refused.value))
    with pytest.raises(reticent.ServiceError, match="unknown"):
        client.activate("never asked")
    with pytest.raises(reticent.ServiceError) as refused:
        reticent.Client(service.address, "nowhere", key=keys["home"]).rank(ACTIONS)
    assert refused.value.status in (403, 404)


MARK = "MARK-8172635"


@pytest.mark.parametrize(
    "call",
    [
        {"context": {"age": float("nan"), "name": MARK}},
        {"context": {"name": {MARK}}},
        {"context": {"name": [MARK, MARK.encode()]}},
        {"context": {"name": numpy.array([MARK, MARK])}},
        {"person": MARK, "event_id": ""},
        {"actions": [{"id": 7, "features": {"name": MARK}}]},
        {"actions": []},
        {"actions": [MARK]},
    ],
)
def test_what_cannot_be_sent_is_refused_before_it_is_sent_and_without_its_contents(service, keys, call):
    with Between(service) as between:
        client = reticent.Client(between.address, "home", key=keys["home"])
        with pytest.raises(reticent.ReticentError) as refused:
            client.rank(call.pop("actions", ACTIONS), **call)
        assert between.seen == []
    # The whole chain of errors, without the lines of this file.
    chain = [refused.value]
    while chain[-1].__cause__ or (chain[-1].__context__ and not chain[-1].__suppress_context__):
        chain.append(chain[-1].__cause__ or chain[-1].__context__)
    assert not any(MARK in "".join(traceback.format_exception_only(error)) for error in chain)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "much", None])
def test_a_reward_is_a_number(value):
    with pytest.raises(reticent.ReticentError, match="value is not a finite number"):
        reticent.Client(AWAY, "home").reward("event", value)


@pytest.mark.parametrize(
    ("address", "options", "words"),
    [
        ("http://decide.example", {}, "in the clear"),
        ("https://anna:secret@decide.example", {}, "address cannot be used"),
        ("ftp://127.0.0.1", {}, "address cannot be used"),
        ("http://127.0.0.1:port", {}, "address cannot be used"),
        (AWAY, {"timeout": 0}, "timeout is 0"),
        (AWAY, {"timeout": float("nan")}, "timeout is nan"),
        (AWAY, {"retries": -1}, "retries"),
        (AWAY, {"key": "rt_a\r\nCookie: b"}, "key cannot be used"),
    ],
)
def test_a_client_that_could_not_be_used_is_refused(address, options, words):
    with pytest.raises(reticent.ReticentError, match=words) as refused:
        reticent.Client(address, "home", **options)
    assert "secret" not in str(refused.value)


def test_certificates_are_verified(service, keys, tmp_path):
    certificate = self_signed(tmp_path / "certificate.pem")
    with Between(service, certificate=certificate) as between:
        stranger = reticent.Client(between.address, "home", key=keys["home"], timeout=10)
        answer = stranger.rank(ACTIONS)
        assert answer.fallback and "SSLCertVerificationError" in str(answer.reason)
        assert between.seen == []
        friend = reticent.Client(between.address, "home", key=keys["home"], timeout=10, roots=certificate)
        assert not friend.rank(ACTIONS).fallback


def self_signed(path):
    """A key and a certificate for localhost."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + datetime.timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + made.public_bytes(pem))
    return path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_child_does_not_read_its_parents_answers(service, keys):
    client = reticent.Client(service.address, "home", key=keys["home"])
    client.rank(ACTIONS)
    child = os.fork()
    if child == 0:
        os._exit(0 if all(client.rank(ACTIONS, event_id=f"child {k}").event_id == f"child {k}" for k in range(20)) else 1)
    assert all(client.rank(ACTIONS, event_id=f"parent {k}").event_id == f"parent {k}" for k in range(20))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_client_that_the_page_prints(service, keys):
    page = (pathlib.Path(__file__).parents[3] / "docs" / "reference" / "service.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert "http://127.0.0.1:8080" in block
    names = {"KEY": keys["home"]}
    exec(block.replace("http://127.0.0.1:8080", service.address), names)
    assert names["answer"].action in ("a", "b") and not names["answer"].fallback


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
        with pytest.raises(reticent.ReticentError, match="reports left is 0"):
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
            ({"most_epsilon": 3.0}, "epsilon is 4: at most 3"),
            ({"most_epsilon": 4.0, "level": 1}, "epsilon is 8: at most 4"),
            ({"most_delta": 1e-7}, "delta is 0.000001: at most 0.0000001"),
            ({"most_reports": 2}, "visits is 3: at most 2"),
        ]:
            with pytest.raises(reticent.ReticentError, match=words):
                client.device(tmp_path, **limit)
        assert {(method, path) for method, path, *_ in between.seen} == {("GET", "/v1/loops/direct/protocol")}
    assert not list(tmp_path.glob("*/ledger*"))
    assert client.device(tmp_path, most_epsilon=4.0).reports_left == 3


def test_a_clients_limits_are_those_of_every_device_unless_others_are_given():
    """Compiled functions do not show their defaults."""
    core = (pathlib.Path(__file__).parents[3] / "crates" / "core" / "src" / "device" / "limits.rs").read_text()
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
        ({"most_epsilon": 3.5}, "epsilon is .*: at most 3.5"),
        ({"most_epsilon": float("nan")}, "epsilon is .*: at most NaN"),
        ({"most_delta": 1e-5}, "epsilon is .*: at most 4 "),
        ({"most_reports": visits - 1}, f"visits is {visits}: at most {visits - 1}"),
        ({"says": {"batch": 4}}, "epsilon is .*: at most 4 "),
        ({"says": {"honest": 1}}, "epsilon is .*: at most 4 "),
        # Everything that was priced is in the hash: the shuffler would refuse these reports.
        ({"says": {"batch": 80}}, "protocol is"),
        ({"says": {"generation": "1"}}, "protocol is"),
        ({"plan_of": {"delta": 2 * plan["delta"]}} if plan["delta"] else {"plan_of": {"levels": {"public": [0.5]}}}, "protocol is"),
        ({"loop": "other"}, "protocol is"),
        ({"says": {"batch": None}}, "batch is missing or of another form"),
        # A message that shows features, and one whose maker claims something.
        ({"plan_of": {"public_arms": True}}, "features never leave"),
        ({"plan_of": {"claim": CLAIM}}, "claim is given"),
    ]:
        with pytest.raises(reticent.ReticentError, match=words):
            join(**limits)
    # The client asks for it, before anything is stored.
    client = reticent.Client(service.address, loop, key=keys[loop], timeout=10)
    with pytest.raises(reticent.ReticentError, match="level cannot be chosen"):
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
        with pytest.raises(reticent.ReticentError, match="epsilon is .*: at most 3.5"):
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
            with pytest.raises(reticent.ReticentError, match="reports left is 0"):
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
    with pytest.raises(reticent.ReticentError, match="shuffler is http.*the address of the server"):
        client.device(tmp_path, shuffler=service.address + "/", most_delta=1e-3)
    with pytest.raises(reticent.ReticentError, match="shuffler is missing"):
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
        with pytest.raises(reticent.ReticentError, match="public_key is"):
            join(unreadable)
    person = join()
    choice = person.choose({}, TOPICS)
    assert not ledger.exists()
    half.report(choice, 1.0)
    assert half.reports_left() == 3 and half.ledger == ledger.read_bytes()
    # Two devices share the count, and the choice of one is reported by the other.
    other = join()
    for left in (2, 1, 0):
        other.report(reticent.Choice(bytes(choice)), 1.0)
        assert person.reports_left() == other.reports_left() == left
    last = ledger.read_bytes()
    with pytest.raises(reticent.ReticentError, match="reports left is 0: at most 4"):
        person.report(choice, 1.0)
    assert ledger.read_bytes() == last
    for damaged in (last[:7], last[:-1], b""):
        ledger.write_bytes(damaged)
        with pytest.raises(reticent.ReticentError):
            person.report(choice, 1.0)
