"""OnlineUCB, its anytime form, the combiner and online LinUCB: device and report server with messages between them, bad input, copies."""

import copy
import json
import pickle

import numpy
import pytest

import reticent

ARMS = numpy.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
PUBLIC = dict(dimension=2, epsilon=8.0, delta=1e-6)
SERVERS = {
    "online_ucb": lambda **more: reticent.OnlineUCB(**{**PUBLIC, "horizon": 200, **more}),
    "anytime": lambda **more: reticent.Anytime(**{**PUBLIC, **more}),
    "combiner": lambda **more: reticent.Combiner(**{**PUBLIC, "horizon": 200, **more}),
}


def absorb(server, report):
    if isinstance(server, reticent.Combiner):
        server.absorb(server.current, report)
    else:
        server.absorb(report)


def rounds(server):
    return sum(server.counts) if isinstance(server, reticent.Combiner) else server.rounds


def step(server, devices):
    arm = reticent.Policy(bytes(server.policy())).decide(ARMS)
    absorb(server, bytes(devices.report(ARMS[arm], 0.5)))


@pytest.mark.parametrize("name", SERVERS)
class TestServers:
    def test_device_and_server_meet_in_messages_alone(self, name):
        server = SERVERS[name]()
        device = reticent.FeatureReward(**PUBLIC)          # on the device, from public parameters
        assert device == server.device() and device != reticent.FeatureReward(**{**PUBLIC, "epsilon": 7.0})
        for _ in range(20):
            step(server, device)
        assert rounds(server) == 20
        report = json.loads(bytes(device.report([0.6, 0.8], 0.5)))
        assert (report["kind"], report["version"], len(report["values"])) == ("feature_reward_report", 1, 3)
        guarantee = server.guarantee
        assert guarantee.model == "local" and guarantee.epsilon <= 8.0 and guarantee.provenance == "computed"
        assert device.guarantee.epsilon == guarantee.epsilon

    def test_copies_go_on_bit_for_bit(self, name):
        server = SERVERS[name]()
        devices = server.device().simulated(5)
        for _ in range(12):
            step(server, devices)
        copies = [pickle.loads(pickle.dumps(server)), copy.deepcopy(server), type(server).load(server.save())]
        assert all(again.save() == server.save() for again in copies)
        reports = [devices.report(ARMS[0], 0.5) for _ in range(5)]
        for one in (server, *copies):
            for report in reports:
                absorb(one, report)
        assert all(again.save() == server.save() for again in copies)

    def test_bad_input_names_the_field_and_changes_nothing(self, name):
        for keys, words in [
            (dict(epsilon=0.0), "epsilon: got 0"),
            (dict(delta=1.0), "delta: got 1"),
            (dict(dimension=0), "dimension: got 0"),
            (dict(dimension=-1), "dimension: got -1; expected a whole number"),
            (dict(feature_bound=float("nan")), "feature_bound: got NaN"),
            (dict(rewards=(1.0, 0.0)), r"rewards: got \(1, 0\)"),
            (dict(width=-1.0), "width: got -1"),
            (dict(learner="oak"), 'learner: got "oak"; .*maler'),
            (dict(mode="oak"), 'mode: got "oak"; .*paper'),
            (dict(learner="gradient_descent", gradient_bound=2.0), "gradient_bound: got a value; it has no effect here"),
            (dict(step=0.1), "step: got a value; it has no effect here"),
            (dict(literal=True, learner="gradient_descent"), "learner: got a value; it has no effect"),
        ]:
            with pytest.raises(reticent.ReticentError, match=words) as error:
                SERVERS[name](**keys)
            assert "::" not in str(error.value), error.value
        server = SERVERS[name]()
        before = server.save()
        good = bytes(server.device().report(ARMS[0], 0.5))
        policy = bytes(server.policy())
        for bad, words in [
            (policy, 'kind: got "policy"; expected a message of kind "feature_reward_report"'),
            (good.replace(b'"version":1', b'"version":2'), "version: got 2"),
            (good[:-4], "cannot be decoded"),
            (b"", "feature_reward_report: got 0 bytes"),
            (b'{"kind":"feature_reward_report","version":1,"values":[0.0,0.0]}', "report: got 2 entries; expected 3"),
            (b'{"kind":"feature_reward_report","version":1,"values":[1e300,0.0,0.0]}', "report: got .*; no honest report exceeds"),
            ([0.1, 0.2, 0.3], "feature_reward_report: got .*list.*; expected the message or its bytes"),
        ]:
            with pytest.raises(reticent.ReticentError, match=words):
                absorb(server, bad)
            assert server.save() == before
        for state in (b"", before[:-1], before[:30] + b"!" + before[31:]):
            with pytest.raises(reticent.ReticentError):
                type(server).load(state)

    def test_the_noise_of_a_publication_has_its_own_guarantee(self, name):
        server = SERVERS[name](mode="paper", epsilon=10.0)
        claimed = server.guarantee.to_dict()["claimed"]
        assert claimed is not None and server.device() == reticent.FeatureReward(**{**PUBLIC, "epsilon": 10.0}, mode="paper")


def test_devices_clip_and_draw_anew():
    device = reticent.FeatureReward(dimension=2, epsilon=1e5, delta=1e-6)
    # At this epsilon the noise is far below the clipped part.
    assert device.deviation < 0.05
    values = device.report([30.0, 40.0], 7.0).values
    assert numpy.allclose(values, [0.6, 0.8, 1.0], atol=0.5)
    assert device.report([1.0, 0.0], 0.5) != device.report([1.0, 0.0], 0.5)
    one, two = device.simulated(3), device.simulated(3)
    assert one.report([1.0, 0.0], 0.5) == two.report([1.0, 0.0], 0.5) != device.simulated(4).report([1.0, 0.0], 0.5)
    assert "SIMULATION" in str(one.guarantee) and "SIMULATION" not in str(device.guarantee)
    for features, reward, words in [([1.0], 0.5, "features"), ([1.0, float("nan")], 0.5, "features"), ([1.0, 0.0], float("inf"), "reward")]:
        with pytest.raises(reticent.ReticentError, match=words):
            device.report(features, reward)
    assert reticent.FeatureRewardReport(bytes(device.report([1.0, 0.0], 0.5))).values != []
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(one)


def test_a_horizon_ends_and_epochs_do_not():
    server = reticent.OnlineUCB(**PUBLIC, horizon=3)
    device = server.device()
    for _ in range(3):
        server.absorb(device.report(ARMS[0], 0.5))
    before = server.save()
    with pytest.raises(reticent.HorizonExceeded):
        server.absorb(device.report(ARMS[0], 0.5))
    assert server.save() == before and len(server.prediction) == 2
    server = reticent.Anytime(**PUBLIC)
    for _ in range(7):
        server.absorb(device.report(ARMS[0], 0.5))
    assert (server.rounds, server.epoch) == (7, 3)


def test_a_combiner_knows_whose_policy_was_followed():
    server = reticent.Combiner(**PUBLIC, horizon=200)
    assert server.vacuous and len(server.counts) == 2
    report = server.device().report(ARMS[0], 0.5)
    server.absorb(1, report)
    assert server.counts == [0, 1]
    before = server.save()
    with pytest.raises(reticent.ReticentError, match="base: got 2; there are 2"):
        server.absorb(2, report)
    with pytest.raises(reticent.ReticentError, match="base: got -1; expected a whole number"):
        server.absorb(-1, report)
    assert server.save() == before
    with pytest.raises(reticent.ReticentError, match="horizon: got 1; expected 2 or more"):
        reticent.Combiner(**PUBLIC, horizon=1)


def test_online_linucb_has_the_calls_of_linucb():
    bandit = reticent.OnlineLinUCB(2, 2000, rewards=(0.0, 1.0), reward_noise=0.5, width=0.5)
    draws = numpy.random.default_rng(3)
    for _ in range(1000):
        ticket, arm = bandit.decide(ARMS)
        assert bandit.observe(ticket, float(draws.random() < (0.2, 0.5, 0.9)[arm])).clipped is False
    assert bandit.rounds == 1000 and bandit.guarantee is None
    assert bandit.theta[1] > bandit.theta[0] and bandit.decide(ARMS).arm == 2
    tickets, arms = bandit.decide_many(ARMS, people=3)
    again = pickle.loads(pickle.dumps(bandit))
    for one in (bandit, again):
        one.observe_many(tickets, numpy.full(3, 0.5))
    assert again.save() == bandit.save()
    assert bandit.open_decisions == 1 == len(bandit.open_tickets()) and bandit.dismiss(bandit.open_tickets()[0])
    decision = bandit.decide(10.0 * ARMS)
    assert decision.clipped_arms == 3 and bandit.observe(decision.ticket, 9.0).clipped
    before = bandit.save()
    ticket = bandit.decide(ARMS).ticket
    with pytest.raises(reticent.ReticentError, match="reward: got NaN"):
        bandit.observe(ticket, float("nan"))
    assert bandit.dismiss(ticket) and bandit.save() != before     # the number of decisions has grown
    for keys, words in [
        (dict(failure_probability=0.3), "failure_probability: got 0.3; expected at most 1/4"),
        (dict(reward_noise=-1.0), "reward_noise: got -1"),
        (dict(step=0.1), "step: got 0.1; it has no effect here"),
        (dict(learner="oak"), 'learner: got "oak"'),
        (dict(horizon=0), "horizon: got 0"),
    ]:
        with pytest.raises(reticent.ReticentError, match=words):
            reticent.OnlineLinUCB(**{"dimension": 2, "horizon": 10, **keys})
    short = reticent.OnlineLinUCB(2, 1)
    short.observe(short.decide(ARMS).ticket, 0.5)
    with pytest.raises(reticent.HorizonExceeded):
        short.observe(short.decide(ARMS).ticket, 0.5)
