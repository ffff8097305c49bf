"""Blocks of parameters: arms name their block, and learners with embedded arms decide the same."""

import pickle

import numpy
import pytest
import reticent


def people(rounds, seed=3):
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(rounds, 4))
    return x / numpy.linalg.norm(x, axis=1, keepdims=True)


def embedded(x, blocks):
    """One row a block, with zeros for the others."""
    rows = numpy.zeros((blocks, blocks * len(x)))
    for block in range(blocks):
        rows[block, block * len(x) : (block + 1) * len(x)] = x
    return rows


def test_exact_sums_decide_as_embedded_arms_do():
    blocks = reticent.LinUCB(dimension=4, blocks=3)
    dense = reticent.LinUCB(dimension=12)
    for number, x in enumerate(people(400)):
        ticket, arm = blocks.decide((range(3), numpy.tile(x, (3, 1))))
        other, same = dense.decide(embedded(x, 3))
        assert arm == same
        reward = float(x[arm] > 0)
        blocks.observe(ticket, reward)
        dense.observe(other, reward)
        if number == 200:
            blocks = pickle.loads(pickle.dumps(blocks))
    assert numpy.allclose(blocks.theta, dense.theta)


def test_arms_keep_their_blocks():
    arms = reticent.Arms(numpy.eye(2), blocks=[4, 1])
    assert arms.blocks == [4, 1]
    assert pickle.loads(pickle.dumps(arms)).blocks == [4, 1]
    assert reticent.Arms(numpy.eye(2)).blocks is None


def test_private_bandits_take_blocks():
    x = people(1)[0]
    arms = reticent.Arms(numpy.tile(x, (3, 1)), blocks=range(3))
    bandit = reticent.JointBandit(dimension=4, epsilon=1.0, delta=1e-6, horizon=1000, blocks=3)
    ticket, arm = bandit.decide(arms)
    bandit.observe(ticket, 1.0)
    plan = reticent.LocalPlan(dimension=4, epsilon=2.0, delta=1e-6, blocks=3)
    server, person = plan.server(), plan.person()
    model = server.publish()
    block = person.choose(model, arms)
    report = person.report(model, x, 0.5, block=block)
    # Every kept entry of every block, in any order of rewards.
    assert len(report.values) == 3 * (10 + 4)
    assert server.absorb(report) == "counted"
    assert isinstance(server.expected_reward(x, block=2), float)


def test_blocks_that_are_missing_or_unknown_are_refused():
    bandit = reticent.LinUCB(dimension=2, blocks=2)
    with pytest.raises(ValueError, match="blocks"):
        bandit.decide(numpy.eye(2))
    with pytest.raises(ValueError, match="block: got 2"):
        bandit.decide(([0, 2], numpy.eye(2)))
    with pytest.raises(ValueError, match="shared"):
        reticent.LinUCB(dimension=2, blocks=2, shared=2)
    assert bandit.rounds == 0
