"""`reticent.Client` against the built program: counts, repetitions, fall-backs."""

import json
import os
import pathlib
import pickle
import re
import traceback

import numpy
import pytest

import reticent
from client_loops import ACTIONS, AWAY, MARK, admin, keys, service  # noqa: F401
from service import Between, wait_until


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
        client.rank(ACTIONS, exclude=["unknown"])
    assert (refused.value.status, refused.value.temporary) == (422, False)
    assert refused.value.field == "exclude" and refused.value.value and refused.value.remedy
    assert str(refused.value).count(refused.value.remedy) == 1
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.status, again.problem, str(again)) == (422, refused.value.problem, str(refused.value))
    with pytest.raises(reticent.ServiceError, match='event_id: got "never asked"; expected the event_id of an answer of this loop'):
        client.activate("never asked")
    with pytest.raises(reticent.ServiceError) as refused:
        reticent.Client(service.address, "nowhere", key=keys["home"]).rank(ACTIONS)
    assert refused.value.status in (403, 404)


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
    with pytest.raises(reticent.ReticentError, match="value: got no finite number; expected a finite number"):
        reticent.Client(AWAY, "home").reward("event", value)


@pytest.mark.parametrize(
    ("address", "options", "words"),
    [
        ("http://decide.example", {}, "in the clear"),
        ("https://anna:secret@decide.example", {}, "address: got what cannot be used"),
        ("ftp://127.0.0.1", {}, "address: got what cannot be used"),
        ("http://127.0.0.1:port", {}, "address: got what cannot be used"),
        (AWAY, {"timeout": 0}, "timeout: got 0"),
        (AWAY, {"timeout": float("nan")}, "timeout: got nan"),
        (AWAY, {"retries": -1}, "retries: got -1; expected a whole number from 0 to 100"),
        (AWAY, {"retries": ["secret"]}, "retries: got no whole number; expected a whole number from 0 to 100"),
        (AWAY, {"key": "rt_a\r\nCookie: b"}, "key: got what cannot be used; expected a key"),
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
