"""People's devices, a report server, and a shuffler between them."""

import pickle

import numpy
import pytest
import reticent
from reticent import ReticentError


def test_devices_and_a_server_exchange_bytes(arms):
    plan = pickle.loads(pickle.dumps(reticent.LocalPlan(5, [0.5, 8.0], 1e-6, unit_arms=True)))
    server = plan.server()
    draws, theta = numpy.random.default_rng(1), arms[3]
    for _ in range(5):
        model = bytes(server.publish())
        reports = []
        for _ in range(400):
            person = plan.person(level=1)
            arm = person.choose(model, arms)
            reward = 1.0 if draws.random() < 0.5 + arms[arm] @ theta / 2 else -1.0
            reports.append(bytes(person.report(model, arms[arm], reward)))
            with pytest.raises(ReticentError, match="reported as often"):
                person.report(model, arms[arm], reward)
        assert server.absorb_many(reports) == 400
        server = pickle.loads(pickle.dumps(server))
        assert server.absorb(reports[0]) == "duplicate"
    assert server.reports == 2000
    assert server.expected_reward(arms[3]) > server.expected_reward(-arms[3])
    assert plan.guarantee(0).epsilon < 0.51 < plan.guarantee(1).epsilon <= 8.0 + 1e-6
    assert plan.guarantee(0).model == "local"
    with pytest.raises(ReticentError, match="report: got 3 bytes.*refuse its sender"):
        server.absorb(b"{]}")
    with pytest.raises(ReticentError, match="other parameters"):
        reticent.LocalPlan(5, 1.0, 1e-6).server().absorb(reports[0])


def test_a_local_server_restarts():
    plan = reticent.LocalPlan(2, 2.0, 1e-6, restart_every=3)
    server = plan.server()
    model = server.publish()
    reports = [plan.person().report(model, [0.6, 0.8], 0.5) for _ in range(4)]
    assert [server.absorb(report) for report in reports] == ["counted", "counted", "counted", "late"]
    assert server.reports == 0 and server.absorb(plan.person().report(server.publish(), [0.6, 0.8], 0.5)) == "counted"
    with pytest.raises(ReticentError, match="restart_every: got 0"):
        reticent.LocalPlan(2, 2.0, 1e-6, restart_every=0)


def test_a_shuffler_stands_between():
    plan = reticent.ShufflePlan(2, 1.0, 1e-6, batch=50, aggregation="permute")
    shuffler, server = plan.shuffler(), plan.server()
    model = server.publish()
    person_report = lambda: bytes(plan.person().report(model, [0.6, 0.8], 0.5))  # noqa: E731
    first = person_report()
    assert shuffler.absorb(first) is None and shuffler.absorb(first) is None and shuffler.waiting == 1
    moved = reticent.Shuffler.load(shuffler.save(), 0)
    batches = [moved.absorb(person_report()) for _ in range(49)]
    assert batches[:-1] == [None] * 48 and batches[-1].people == 50
    assert server.absorb(bytes(batches[-1])) == "counted"
    assert pickle.loads(pickle.dumps(server)).absorb(batches[-1]) == "duplicate"
    with pytest.raises(reticent.StaleState, match="saved state: got 0 batches; expected 1, which have been made"):
        reticent.Shuffler.load(shuffler.save(), 1)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(shuffler)
    assert plan.guarantee.epsilon <= 1.0 + 1e-9 < plan.local_guarantee.epsilon
    twice = reticent.ShufflePlan(2, 1.0, 1e-6, batch=50, contributions_per_person=2)
    model, person = twice.server().publish(), twice.person()
    person.report(model, [0.6, 0.8], 0.5)
    again = twice.person(spent=person.spent)
    assert [twice.person().reports_left, person.reports_left, again.reports_left] == [2, 1, 1]
    edited = bytearray(person.spent)
    edited[-9] += 1     # the last byte before the checksum is the number of reports
    with pytest.raises(ReticentError, match="spent: got .* checksum mismatch"):
        twice.person(spent=bytes(edited))
    with pytest.raises(ReticentError, match="spent: got .* bytes"):
        twice.person(spent=person.spent[:-1])
    with pytest.raises(ReticentError, match="spent: got .* not a \"spent 1\""):
        twice.person(spent=server.save())
    with pytest.raises(ReticentError, match="a plan with other parameters"):
        plan.person(spent=person.spent)
    with pytest.raises(ReticentError, match="spent: got 3 bytes"):
        twice.person(spent=b"{]}")


def test_a_device_knows_what_it_sent_and_what_was_clipped():
    plan = reticent.LocalPlan(2, [1.0, 8.0], 0.0, contributions_per_person=2, rewards=(0.0, 1.0))
    model, eager = plan.server().publish(), plan.person(level=1)
    report = eager.report(model, [0.6, 0.8], 0.5)
    assert eager.clipped == 0
    # Half of 8 is sent, half of 1 may follow; a count of reports would say 1.
    careful = plan.person(level=0, spent=eager.spent)
    assert abs(careful.guarantee.epsilon - 4.5) < 1e-3
    assert plan.guarantee(0).epsilon < 1.001 and plan.guarantee_at_any_level().epsilon >= plan.guarantee(1).epsilon
    report = careful.report(model, [60.0, 80.0], 7.0)
    assert careful.clipped == 1 and b"clipped" not in bytes(report) and not hasattr(report, "clipped")
    # Features without the declared intercept or norm are corrected, not refused.
    declared = reticent.LocalPlan(3, 1.0, 0.0, intercept=0.6, unit_arms=True, contributions_per_person=3)
    model, person = declared.server().publish(), declared.person()
    for features, clipped in [([0.48, 0.64, 0.6], 0), ([0.48, 0.64, 0.9], 1), ([0.0, 0.0, 0.6], 2)]:
        person.report(model, features, 0.5)
        assert person.clipped == clipped
