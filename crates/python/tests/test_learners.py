"""Learners: numpy in and out, tickets, batches, the core's error messages, saved states."""

import json
import pickle

import numpy
import pytest
import reticent
from reticent import ReticentError


def joint(**parameters):
    return reticent.JointBandit(5, 1.0, 1e-6, **{"horizon": 100_000, **parameters})


@pytest.mark.parametrize("make", [joint, lambda: reticent.LinUCB(5)])
class TestBandits:
    def test_any_layout_of_the_arms_gives_the_same_choice(self, make, arms):
        ways = [
            arms,
            arms.tolist(),
            numpy.asfortranarray(arms),
            arms.astype(numpy.float32).astype(object),
            numpy.repeat(arms, 2, axis=0)[::2],
            reticent.Arms(arms),
        ]
        bandits = [make() for _ in ways]
        for _ in range(7):
            for way, bandit in zip(ways[:3] + ways[4:], bandits):
                decision = bandit.decide(way)
                bandit.observe(decision.ticket, float(arms[decision.arm, 0]))
            # Before the first release, after eight rewards, nothing of a joint bandit is random.
            assert len({bandit.decide(arms).arm for bandit in bandits[:5]}) == 1

    def test_rewards_come_in_any_order_once_or_never(self, make, arms):
        bandit = make()
        tickets = [bandit.decide(arms).ticket for _ in range(4)]
        assert len(set(tickets)) == 4 and bandit.open_decisions == 4
        bandit.observe(tickets[2], 0.5)
        bandit.observe(tickets[0], -0.5)
        assert bandit.dismiss(tickets[1]) and not bandit.dismiss(tickets[1])
        for ticket in (tickets[2], tickets[1]):
            with pytest.raises(ReticentError, match="ticket: got .*known already"):
                bandit.observe(ticket, 0.5)
        with pytest.raises(ReticentError, match="ticket: got .*never given out"):
            bandit.observe(tickets[3][:-1] + ("0" if tickets[3][-1] != "0" else "1"), 0.5)
        assert bandit.rounds == 2 and bandit.open_decisions == 1

    def test_many_at_once_is_one_after_the_other(self, make, arms):
        one, many, same = make(), make(), make()
        sets = numpy.stack([numpy.roll(arms, shift, axis=0) for shift in range(30)])
        tickets, chosen = many.decide_many(sets)
        assert len(set(tickets)) == 30 and chosen.shape == (30,)
        decisions = [one.decide(rows) for rows in sets]
        assert [decision.arm for decision in decisions] == list(chosen)
        rewards = numpy.linspace(-1, 1, 30)
        many.observe_many(tickets, rewards)
        for decision, reward in zip(decisions, rewards):
            one.observe(decision.ticket, reward)
        assert one.rounds == many.rounds == 30 and many.open_decisions == 0
        if isinstance(one, reticent.LinUCB):
            assert (one.theta == many.theta).all() and one.save() == many.save()
        tickets, chosen = same.decide_many(arms, people=7)
        assert len(tickets) == 7

    def test_what_is_refused_changes_nothing(self, make, arms):
        bandit = make()
        ticket = bandit.decide(arms).ticket
        bad = arms.copy()
        bad[3, 1] = numpy.nan
        for call, words in [
            (lambda: bandit.decide(bad), "nan"),
            (lambda: bandit.decide(arms[:, :3]), "every arm: got 3 entries; expected 5"),
            (lambda: bandit.decide(arms[0]), "one arm a row"),
            (lambda: bandit.decide("arms"), "one arm a row"),
            (lambda: bandit.decide(numpy.zeros((0, 5))), "count: got 0; expected a whole number above 0"),
            (lambda: bandit.observe(ticket, numpy.nan), "reward"),
            (lambda: bandit.decide_many(arms), "people=n"),
            (lambda: bandit.decide_many(numpy.stack([arms, bad])), "entry 1"),
            (lambda: bandit.observe_many([ticket], [0.1, 0.2]), "rewards: got 2 entries; expected 1"),
            (lambda: bandit.observe_many([0.5], [0.1]), "list of tickets"),
            (lambda: bandit.observe_many(["77"], [0.1]), "32 hexadecimal digits"),
            (lambda: bandit.observe_many(["7" * 32], [0.1]), "entry 0, ticket: got 7777"),
        ]:
            with pytest.raises(ReticentError, match=f"(?i){words}"):
                call()
        assert (bandit.rounds, bandit.open_decisions) == (0, 1)
        # One bad reward among many: those before it are not learnt either, and all can be given again.
        tickets = [ticket, bandit.decide(arms).ticket, bandit.decide(arms).ticket]
        for bad_reward in (numpy.nan, numpy.inf, -numpy.inf):
            with pytest.raises(ReticentError, match="rewards: got .*entry 2"):
                bandit.observe_many(tickets, [0.5, 0.5, bad_reward])
            assert (bandit.rounds, bandit.open_decisions) == (0, 3)
        bandit.observe_many(tickets[1:], [0.5, 0.5])
        assert (bandit.rounds, bandit.open_decisions) == (2, 1)
        with pytest.raises(TypeError):
            bandit.observe(-1, 0.5)

    def test_a_pickle_goes_on(self, make, arms):
        bandit = make()
        first, waiting = bandit.decide(arms), bandit.decide(arms)
        bandit.observe(first.ticket, 0.5)
        copy = pickle.loads(pickle.dumps(bandit))
        assert (copy.rounds, copy.open_decisions) == (1, 1)
        assert (copy.theta == bandit.theta).all()
        copy.observe(waiting.ticket, 0.25)
        assert copy.rounds == 2 and bandit.rounds == 1


def test_a_bandit_learns(arms):
    """Random choice has mean reward near 0; the best arm has 1. The private bandit is on seeded noise, so that the run is the same each time."""
    theta = arms[11]
    draws = numpy.random.default_rng(3)
    for bandit, least in ((reticent.LinUCB(5), 0.9), (reticent.JointBandit.simulated(1, dimension=5, epsilon=8.0, delta=1e-6, horizon=60_000), 0.5)):
        set_, late = reticent.Arms(arms), []
        for step in range(60_000 if bandit.guarantee else 4000):
            ticket, arm = bandit.decide(set_)
            mean = arms[arm] @ theta
            bandit.observe(ticket, 1.0 if draws.random() < 0.5 + mean / 2 else -1.0)
            late.append(mean)
        assert numpy.mean(late[-1000:]) > least, bandit


def test_saved_states_move(arms):
    bandit = joint(schedule="every_round")
    for _ in range(3):
        bandit.observe(bandit.decide(arms).ticket, 0.5)
    old, theta = bandit.save(), bandit.theta
    moved = reticent.JointBandit.load(old, releases_made=3)
    assert (moved.theta == theta).all() and moved.releases == 3 and moved.replays == 0
    assert moved.guarantee.epsilon == bandit.guarantee.epsilon
    bandit.observe(bandit.decide(arms).ticket, 0.5)
    with pytest.raises(reticent.StaleState, match="saved state: got 3 releases; expected 4, which have been made"):
        reticent.JointBandit.load(old, releases_made=4)
    paid = reticent.JointBandit.load(old, releases_made=4, charged_before=0)
    assert paid.replays == 1 and paid.guarantee.epsilon > bandit.guarantee.epsilon
    # A state that is not stale adds nothing; one that is adds one to what was charged before.
    assert reticent.JointBandit.load(bandit.save(), 4, charged_before=1).replays == 1
    assert reticent.JointBandit.load(old, 5, charged_before=1).replays == 2
    with pytest.raises(ReticentError, match="checksum"):
        reticent.JointBandit.load(old[:-1], 3)
    with pytest.raises(ReticentError, match="load it with the type that saved it"):
        reticent.ConvexBandit.load(old, 0, 0)
    with pytest.raises(ReticentError, match="not a"):
        reticent.Server.load(reticent.ShufflePlan(2, 1.0, 1e-6, batch=50).shuffler().save())
    for learner, kind in ((reticent.LinUCB(3), reticent.LinUCB), (reticent.OnlineLearner(3, 1.0), reticent.OnlineLearner)):
        for length in (0, 5, 20, len(learner.save()) - 1):
            with pytest.raises(ReticentError):
                kind.load(learner.save()[:length])


@pytest.mark.parametrize("make", [joint, lambda: reticent.LinUCB(5)])
def test_values_out_of_range_are_clipped_and_reported(make, arms):
    bandit = make()
    long = arms.copy()
    long[[2, 4]] *= 50
    decision = bandit.decide(long)
    assert decision.clipped_arms == 2 and "clipped_arms=2" in repr(decision)
    assert bandit.decide(arms).clipped_arms == 0
    assert bandit.observe(decision.ticket, 1e9).clipped
    assert numpy.linalg.norm(bandit.theta) <= 1


@pytest.mark.parametrize("load", [lambda b, s: reticent.JointBandit.load(s, b.releases), lambda b, s: reticent.LinUCB.load(s)])
def test_a_ticket_from_before_a_crash_is_refused(load, arms):
    bandit = joint() if load.__code__.co_names[1] == "JointBandit" else reticent.LinUCB(5)
    kept = bandit.decide(arms).ticket
    state = bandit.save()
    first = bandit.decide(arms).ticket
    again = load(bandit, state)
    second = again.decide(arms).ticket
    assert first != second
    with pytest.raises(ReticentError, match="restarted"):
        again.observe(first, 1.0)
    again.observe(kept, 1.0)
    assert [t if isinstance(t, str) else t[0] for t in again.open_tickets()] == [second]
    assert json.loads(json.dumps(second)) == second and pickle.loads(pickle.dumps(second)) == second
    if isinstance(bandit, reticent.JointBandit):
        without = reticent.JointBandit.load(bandit.save(open_decisions=False), 0)
        assert without.open_decisions == 0
        with pytest.raises(ReticentError, match="restarted"):
            without.observe(kept, 1.0)


def test_a_window_closes_decisions_in_order_and_late_rewards_say_so(arms):
    bandit = joint(window=3, default_reward=-0.5)
    tickets = [bandit.decide(arms).ticket for _ in range(5)]
    assert (bandit.decisions, bandit.rounds, bandit.open_decisions) == (5, 2, 3)
    assert bandit.observe(tickets[0], 1.0).late and not bandit.observe(tickets[4], 1.0).late
    with pytest.raises(ReticentError, match="known already"):
        bandit.observe(tickets[4], 1.0)
    assert any("which rewards come, and when, need not" in condition for condition in bandit.guarantee.conditions)
    clock = joint(window="clock")
    first, second = clock.decide(arms, now=10).ticket, clock.decide(arms, now=20).ticket
    assert clock.open_tickets() == [(first, 10), (second, 20)]
    assert clock.close_before(20) == 1 and clock.rounds == 1 and clock.open_tickets() == [(second, 20)]
    plain = joint()
    plain.expire(plain.decide(arms).ticket)
    assert plain.rounds == 1
    for call, words in [
        (lambda: joint(window=0), "window: got 0"),
        (lambda: joint(window="noon"), "window: got"),
        (lambda: joint(default_reward=2.0), "default_reward: got 2"),
        (lambda: plain.close_before(5), "window: missing"),
    ]:
        with pytest.raises(ReticentError, match=words):
            call()


def test_after_the_horizon_the_model_is_frozen(arms):
    bandit = joint(horizon=3, schedule="every_round")
    for _ in range(3):
        decision = bandit.decide(arms)
        assert not decision.frozen and not bandit.frozen
        bandit.observe(decision.ticket, 0.5)
    decision = bandit.decide(arms)
    assert decision.frozen and bandit.frozen and bandit.open_decisions == 0
    with pytest.raises(reticent.HorizonExceeded, match="round: got .*; expected at most the horizon of 3"):
        bandit.observe(decision.ticket, 0.5)
    with pytest.raises(reticent.HorizonExceeded, match="entry 0"):
        bandit.observe_many([decision.ticket], [0.5])


def test_a_learner_that_forgets_has_no_end(arms):
    bandit = reticent.JointBandit(5, 1.0, 1e-6, forget=640.0)
    for _ in range(10):
        decision = bandit.decide(arms)
        bandit.observe(decision.ticket, 0.5)
    assert bandit.releases == 1 and bandit.guarantee.epsilon <= 1.0
    looks = reticent.JointBandit(5, 1.0, 1e-6, forget=640.0, detect_changes=True)
    assert looks.changes == 0
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ReticentError, match="forget: got"):
            reticent.JointBandit(5, 1.0, 1e-6, forget=wrong)
        with pytest.raises(ReticentError, match="forget: got"):
            reticent.LinUCB(5, forget=wrong)
    with pytest.raises(ReticentError, match="restart_every"):
        reticent.JointBandit(5, 1.0, 1e-6, forget=640.0, restart_every=1000)
    with pytest.raises(ReticentError, match="give `forget` too"):
        reticent.JointBandit(5, 1.0, 1e-6, detect_changes=True)


def test_a_warm_start_uses_the_released_model(arms):
    earlier = reticent.JointBandit(5, 8.0, 1e-6, 5000)
    with pytest.raises(ReticentError, match="releases: got 0"):
        earlier.legacy()
    for _ in range(5000):
        ticket, arm = earlier.decide(arms)
        earlier.observe(ticket, float(arms[arm, 0]))
    later = reticent.JointBandit(5, 8.0, 1e-6, 5000, warm_start=earlier.legacy())
    assert numpy.linalg.norm(later.theta) > 0.1
    assert any("an earlier learner released" in condition for condition in later.guarantee.conditions)
    both = later.guarantee_of_both
    assert both.epsilon > later.guarantee.epsilon and earlier.guarantee_of_both is None
    # It has the conditions of both learners, each marked with its learner.
    rests_on = set(reticent.JointBandit(5, 8.0, 1e-6, 5000).guarantee.conditions)
    assert rests_on and rests_on <= set(both.conditions)
    earlier_rests_on = {c.removeprefix("in the earlier learner: ") for c in both.conditions if c.startswith("in the earlier learner: ")}
    assert earlier_rests_on == {*rests_on, "nobody took part in it more than 1 times"}
    with pytest.raises(ReticentError, match="bounds of the legacy"):
        reticent.JointBandit(4, 8.0, 1e-6, 5000, warm_start=earlier.legacy())
    with pytest.raises(ReticentError, match="saved state: got .* bytes"):
        reticent.JointBandit(5, 8.0, 1e-6, 5000, warm_start=earlier.legacy()[:-1])


def test_parameters_are_refused_in_the_words_of_the_core():
    for call, words in [
        (lambda: reticent.JointBandit(5, -1.0, 1e-6, 1000), "epsilon: got -1"),
        (lambda: reticent.JointBandit(0, 1.0, 1e-6, 1000), "dimension: got 0"),
        (lambda: reticent.JointBandit(5, 1.0, 1e-6, 1000, mechanism="oak"), "mechanism: got .*blt"),
        (lambda: reticent.JointBandit(5, 1.0, 1e-6, None, mode="paper"), "horizon: got unknown"),
        (lambda: reticent.LocalPlan(2, 1.0, 1e-6, rewards=(1.0, 0.0)), "rewards: got"),
        (lambda: reticent.ShufflePlan(2, 1.0, 1e-6, batch=0), "batch: got 0"),
        (lambda: reticent.ConvexBandit({"kind": "heap"}, 1.0, 100), "set: got .*simplex"),
        (lambda: reticent.SafePlan([[1.0], [-1.0]], [1.0, 1.0], [1.0], []), "agents: got 0 entries"),
    ]:
        with pytest.raises(ReticentError, match=words):
            call()
    with pytest.raises(TypeError):
        reticent.JointBandit(5, "much", 1e-6)


def test_thompson_sampling_gives_every_decision_its_probability(arms):
    rule = {"thompson": {"members": 64, "minimum_probability": 0.01}}
    for bandit in (joint(rule=rule), reticent.LinUCB(5, rule=rule, seed=1)):
        for _ in range(20):
            decision = bandit.decide(arms)
            assert 0.01 <= decision.probability <= 1.0
            bandit.observe(decision.ticket, 0.5)
    one, two = (reticent.LinUCB(5, rule="thompson", seed=3) for _ in range(2))
    assert [one.decide(arms).arm for _ in range(20)] == [two.decide(arms).arm for _ in range(20)]
    assert joint().decide(arms).probability == 1.0
    for plan in (
        reticent.LocalPlan(5, 2.0, 1e-6, rule="thompson"),
        reticent.ShufflePlan(5, 1.0, 1e-6, batch=50, rule="thompson"),
    ):
        model = plan.server().publish()
        probabilities = model.probabilities(arms)
        assert probabilities.shape == (len(arms),) and abs(probabilities.sum() - 1.0) < 1e-12
        assert numpy.array_equal(reticent.Model(bytes(model)).probabilities(arms), probabilities)
        assert probabilities[plan.person().choose(model, arms)] > 0.0
    with pytest.raises(ReticentError, match="members: got 0"):
        joint(rule={"thompson": {"members": 0}})
    # A floor that is too high for the number of arms makes them equally likely: no caller is refused for the number of their arms.
    bandit = joint(rule={"thompson": {"minimum_probability": 0.9}})
    assert bandit.decide(arms).probability == 1 / len(arms)


def test_paper_mode_shows_the_claim():
    guarantee = joint(mode="paper").guarantee
    assert guarantee.epsilon == joint(mode="paper", mechanism="gaussian_tree").guarantee.epsilon
    with pytest.raises(ReticentError, match="mechanism: got gaussian_tree.*paper"):
        joint(mechanism="gaussian_tree")
    assert guarantee.to_dict()["mode"] == "paper" and "claimed" in repr(guarantee)
    # The noise that the authors added to every sum beyond that of the text protects no one; a searched shift is in their program only.
    assert abs(joint(mode="printed").guarantee.epsilon / guarantee.epsilon - 1) < 1e-6
    assert joint(mode="paper", mechanism="wishart_opt").guarantee.epsilon > 0
    with pytest.raises(ReticentError, match="no searched shift"):
        joint(mode="printed", mechanism="wishart_opt")


def test_the_text_and_table_of_a_guarantee():
    guarantee = reticent.JointBandit(5, 1.0, 0.01, 1000).guarantee
    assert repr(guarantee).startswith("(at most 1.0000, 1e-2)-differentially private for one person")
    assert any("1e-3" in warning for warning in guarantee.warnings)
    assert guarantee.epsilon_at(1e-9) > guarantee.epsilon
    assert guarantee.delta_at(guarantee.epsilon) == pytest.approx(0.01, rel=1e-6)
    table = guarantee._repr_html_()
    assert table.count("<tr>") == len(guarantee.table().splitlines())
    assert "rests on" in table and "1e-2" in table
    written = json.loads(guarantee.to_json())
    assert list(written)[:2] == ["kind", "version"] and written["kind"] == "guarantee"
    assert written["delta"] == guarantee.delta == 0.01


def test_a_safe_coordinator_is_safe():
    agent = dict(dimension=2, parameter_bound=1.0, action_bound=4.0, response_noise=0.05, privacy=dict(epsilon=4.0, delta=1e-5))
    rows, bounds = numpy.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), numpy.array([3.0, 1.0, 1.0])
    plan = reticent.SafePlan(rows, bounds, [1.0, 2.0], [agent, agent])
    assert plan.safety["holds"] and "probability at least 0.99" in plan.safety["sentence"]
    theta = numpy.array([[0.6, 0.8], [-0.8, 0.6]])
    coordinator, agents = plan.coordinator(), [plan.agent(0), plan.agent(1)]
    draws = numpy.random.default_rng(5)
    for step in range(200):
        decision = coordinator.decide()
        means = numpy.array([theta[m] @ decision.actions[m] for m in range(2)])
        assert (rows @ means <= bounds + 1e-9).all() and decision.usage <= 1.0
        for m in range(2):
            coordinator.absorb(bytes(agents[m].report(decision.ticket, means[m] + 0.05 * draws.standard_normal())))
        if step == 100:
            coordinator = pickle.loads(pickle.dumps(coordinator))
            agents[0] = reticent.Agent.load(agents[0].save(), agents[0].answered)
    estimate, width = coordinator.estimate(0)
    assert estimate.shape == (2,) and width > 0 and coordinator.rounds == 200
    assert agents[0].guarantee.epsilon > plan.guarantee().epsilon
    with pytest.raises(ReticentError, match="agent: got colour"):
        reticent.SafePlan(rows, bounds, [1.0, 2.0], [agent, {**agent, "colour": 1}])
    with pytest.raises(ReticentError, match="no dimension"):
        reticent.SafePlan(rows, bounds, [1.0, 2.0], [agent, {"parameter_bound": 1.0, "action_bound": 1.0, "response_noise": 0.1}])


def test_a_linear_model_learns_from_protected_gradients():
    draws = numpy.random.default_rng(2)
    X = draws.standard_normal((20_000, 3)) / 2
    y = numpy.sign(X @ [1.0, -1.0, 0.5])
    device = reticent.Randomizer.k_norm(3, epsilon=4.0, bound=1.0)
    model = reticent.LinearModel(3, 1.0, "hinge")
    model.partial_fit(X[:, ::-1][:, ::-1], y, device)
    assert (numpy.sign(model.decision_function(X)) == y).mean() > 0.8
    halves = reticent.LinearModel(3, 1.0, "hinge")
    for x, label in zip(X[:100], y):
        halves.absorb(device.report(halves.gradient(x, label)))
    assert pickle.loads(pickle.dumps(halves)).coef_.tolist() == halves.coef_.tolist()
    for device in (reticent.Randomizer.laplace([1.0, 0.0, 2.0], 1.0), reticent.Randomizer.l1(3, 1.0, 1.0), reticent.Randomizer.staircase([3.0] * 3, 1.0)):
        assert device.report([0.1, 0.2, 0.3]).shape == (3,) and device.guarantee().model == "local"
    assert reticent.Randomizer.laplace([1.0, 0.0, 2.0], 1.0).report([0.1, 0.2, 0.3])[1] == 0.0
    learner = reticent.OnlineLearner(3, 1.0)
    learner.absorb_many(numpy.full((50, 3), 0.1))
    learner.skip()
    assert learner.rounds == 51 and learner.regret_bound([-1.0, 0.0, 0.0]) > 0
    with pytest.raises(ReticentError, match="entry 1"):
        learner.absorb_many([[0.1, 0.1, 0.1], [numpy.nan, 0.0, 0.0]])


def test_slates_are_played_and_learnt():
    bandit = reticent.ConvexBandit({"kind": "slates", "elements": 6, "size": 2}, 1.0, 40_000, values=(0.0, 2.0), play="vertices")
    assert bandit.guarantee is None
    cost = numpy.array([0.0, 0.1, 0.9, 0.9, 0.9, 0.9])
    for _ in range(20_000):
        ticket, slate = bandit.decide()
        assert slate.sum() == 2 and set(slate) <= {0.0, 1.0}
        bandit.observe(ticket, float(cost @ slate))
    assert cost @ bandit.point < 0.6     # all slates alike cost 1.23 on average
    private = reticent.ConvexBandit({"kind": "simplex", "outcomes": 3}, 1.0, 1000, 1.0, 1e-6)
    private.observe(private.decide().ticket, 0.5)
    moved = reticent.ConvexBandit.load(private.save(), private.releases, private.decisions)
    assert moved.guarantee.epsilon == private.guarantee.epsilon <= 1.0
    copy = pickle.loads(pickle.dumps(private))
    assert copy.guarantee.epsilon > private.guarantee.epsilon
    assert reticent.ConvexBandit({"kind": "simplex", "outcomes": 3}, 1.0, 1000, 1.0, local=True).guarantee.model == "local"


def test_a_device_protects_its_value():
    bandit = reticent.ConvexBandit({"kind": "simplex", "outcomes": 3}, 1.0, 1000, 2.0, local=True, values=(0.0, 1.0))
    device = pickle.loads(pickle.dumps(bandit.local_value))
    assert device == reticent.LocalValue(0.0, 1.0, 2.0) and (device.low, device.high, device.epsilon) == (0.0, 1.0, 2.0)
    ticket, point = bandit.decide()
    report = device.report(7.0)
    assert reticent.ValueReport(bytes(report)) == pickle.loads(pickle.dumps(report)) == report
    bandit.absorb(ticket, bytes(report))
    with pytest.raises(ReticentError, match="known already"):
        bandit.absorb(ticket, report)
    bandit.absorb(bandit.decide().ticket, device.report(0.5))
    assert bandit.releases == 2 and bandit.open_decisions == 0
    # Laplace noise of scale 1/epsilon: six deviations of a mean of 20000 are met less than once in 10^7 runs.
    values = [json.loads(bytes(device.report(7.0)))["value"] for _ in range(20_000)]
    assert abs(numpy.mean(values) - 1.0) < 6 * 2**0.5 / 2.0 / 20_000**0.5
    # The fourth moment of Laplace noise is 24 scales: the variance's own deviation is 5^0.5 of it.
    assert abs(numpy.var(values) - 0.5) < 6 * 0.5 * (5 / 20_000) ** 0.5
    central = reticent.ConvexBandit({"kind": "simplex", "outcomes": 3}, 1.0, 1000, 1.0, 1e-6)
    assert central.local_value is None
    with pytest.raises(ReticentError, match="call `observe`"):
        central.absorb(central.decide().ticket, report)
    for bad, words in (((1.0, 0.0, 1.0), "range of values"), ((0.0, 1.0, -1.0), "epsilon"), ((0.0, float("nan"), 1.0), "range")):
        with pytest.raises(ReticentError, match=words):
            reticent.LocalValue(*bad)
    with pytest.raises(ReticentError, match="value"):
        device.report(float("nan"))
    with pytest.raises(ReticentError, match="report"):
        bandit.absorb(bandit.decide().ticket, b"{")
