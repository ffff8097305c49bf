"""The bandit for fixed public actions."""

import numpy
import pytest

import reticent

ACTIONS = numpy.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


@pytest.mark.parametrize("trust", ["central", "shuffle", "none"])
def test_it_learns_under_every_trust(trust):
    budget = {} if trust == "none" else dict(epsilon=2.0, delta=1e-6)
    bandit = reticent.EpisodesBandit(ACTIONS, trust=trust, **budget)
    rewards = numpy.random.default_rng(5)
    means, shown = [0.1, 0.2, 0.9], []
    for _ in range(4000):
        number, action = bandit.decide()
        shown.append(action)
        assert bandit.observe(number, float(rewards.random() < means[action]))
    # The noise differs from run to run; no run of a thousand came near half of the people.
    assert sum(action == 2 for action in shown[2000:]) > 1000
    if trust == "none":
        assert bandit.guarantee is None
    else:
        assert 1.98 <= bandit.guarantee.epsilon <= 2.0
        assert any("arms are fixed and public" in condition for condition in bandit.guarantee.conditions)


def test_a_shuffler_hands_over_numbers_of_ones():
    bandit = reticent.EpisodesBandit(ACTIONS, 1.0, 1e-6, trust="shuffle")
    episode = bandit.episode
    assert episode.number == 0 and episode.people >= 16 and episode.local_epsilon >= 1.0
    bits = [episode.report(0.5) for _ in range(episode.people)]
    bandit.absorb(sum(bits))
    assert bandit.episode.number == bandit.releases == 1
    with pytest.raises(reticent.ReticentError, match="ones"):
        bandit.absorb(10**9)


def test_refused_input_changes_nothing():
    bandit = reticent.EpisodesBandit(ACTIONS, 1.0, 1e-6)
    number, _ = bandit.decide()
    state = bandit.save()
    for reward in (float("nan"), float("inf")):
        with pytest.raises(reticent.ReticentError, match="reward"):
            bandit.observe(number, reward)
    with pytest.raises(reticent.ReticentError, match="number: got 7"):
        bandit.observe(7, 0.5)
    assert bandit.save() == state
    for wrong in (dict(actions=[[2.0]]), dict(actions=[]), dict(epsilon=-1.0), dict(trust="device"), dict(growth=1.0), dict(rewards=(1.0, 0.0))):
        with pytest.raises(reticent.ReticentError):
            reticent.EpisodesBandit(**{**dict(actions=ACTIONS, epsilon=1.0, delta=1e-6), **wrong})
    # The rule is refused for arms that come with each person.
    with pytest.raises(reticent.ReticentError, match="may depend on the person"):
        reticent.JointBandit(2, 1.0, 1e-6, 1000, rule="episodes")


def test_saved_bandits_go_on_and_older_ones_are_refused():
    bandit = reticent.EpisodesBandit(ACTIONS, 1.0, 1e-6)
    state = bandit.save()
    while bandit.releases == 0:
        number, _ = bandit.decide()
        bandit.observe(number, 1.0)
    again = reticent.EpisodesBandit.load(bandit.save(), bandit.releases)
    assert again.episode.number == 1 and bytes(again.policy()) == bytes(bandit.policy())
    with pytest.raises(reticent.StaleState):
        reticent.EpisodesBandit.load(state, 1)
