"""Fork and pickle: no copy of a state ever draws the noise of another.

Every comparison is of long floating-point vectors under fresh noise: by chance they are equal less than once in 10^12 runs. A copy that
kept its generator would draw exactly the same, every time.
"""

import copy
import ctypes
import multiprocessing
import os
import pickle

import numpy
import pytest
import reticent

ROWS = numpy.eye(3)


def joint():
    return reticent.JointBandit(3, 1.0, 1e-6, 1000, schedule="every_round")


def step(bandit, reward=0.5):
    bandit.observe(bandit.decide(ROWS).ticket, reward)
    return bandit.theta.tolist()


def plain():
    return reticent.LinUCB(3)


def convex():
    return reticent.ConvexBandit({"kind": "simplex", "outcomes": 4}, 1.0, 1000, 1.0, 1e-6, batch=2)


def play(bandit):
    for _ in range(2):
        bandit.observe(bandit.decide().ticket, 0.5)
    return bandit.point.tolist() + bandit.decide().point.tolist()


PLAN = reticent.LocalPlan(3, 2.0, 1e-6, contributions_per_person=10)
MODEL = PLAN.server().publish()
AGENT = dict(dimension=2, parameter_bound=1.0, action_bound=1.0, response_noise=0.1, privacy=dict(epsilon=1.0, delta=1e-5))
SAFE = reticent.SafePlan([[1.0], [-1.0]], [1.0, 1.0], [1.0], [AGENT])

SHUFFLE = reticent.ShufflePlan(3, 1.0, 1e-6, batch=10, contributions_per_person=2)

# Functions that make a learner and that return values containing its noise.
NOISY = {
    "joint": (joint, step),
    "convex": (convex, play),
    "device": (lambda: reticent.LocalValue(0.0, 1.0, 1.0), lambda device: [bytes(device.report(0.5)) for _ in range(4)]),
    "discrete_gaussian": (lambda: None, lambda _: reticent.privacy.discrete_gaussian(1000, size=20).tolist()),
}

# Objects that count one person's reports cannot be copied, because a copy would count separately.
COUNTING = {
    "person": (PLAN.person, lambda person: person.report(MODEL, [0.6, 0.0, 0.8], 0.5), "spent"),
    "shuffled person": (SHUFFLE.person, lambda person: person.report(SHUFFLE.server().publish(), [1.0, 0.0, 0.0], 0.5), "spent"),
    "agent": (lambda: SAFE.agent(0), lambda agent: agent.report(0, 0.5), "answers_given"),
}


def local(horizon=1000):
    return reticent.ConvexBandit({"kind": "simplex", "outcomes": 4}, 1.0, horizon, 1.0, local=True, values=(0.0, 1.0), batch=2)


def in_child(fork, work):
    """The result of `work` in a child process."""
    read, write = os.pipe()
    child = fork()
    if child == 0:
        try:
            answer = ("is", work())
        except BaseException as error:  # every exception must reach the parent
            answer = ("raised", repr(error))
        os.write(write, pickle.dumps(answer))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        what, answer = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    assert what == "is", answer
    return answer


def c_fork():
    """A fork that was not made through Python."""
    return ctypes.PyDLL(None).fork()


@pytest.mark.parametrize("fork", [os.fork, c_fork], ids=["os.fork", "fork(2)"])
class TestFork:
    @pytest.mark.parametrize("name", NOISY)
    def test_a_child_never_draws_its_parents_noise(self, fork, name):
        make, show = NOISY[name]
        learner = make()
        show(learner)
        first = in_child(fork, lambda: show(learner))
        second = in_child(fork, lambda: show(learner))
        grandchild = in_child(fork, lambda: in_child(fork, lambda: show(learner)))
        answers = [first, second, grandchild, show(learner)]
        assert len({tuple(answer) for answer in answers}) == 4

    def test_without_noise_parent_and_child_agree(self, fork):
        """The test above would detect noise that was drawn twice."""
        learner = plain()
        step(learner)
        assert in_child(fork, lambda: step(learner)) == step(learner)

    def test_a_childs_guarantee_counts_its_parent(self, fork):
        for make in (joint, convex):
            bandit = make()
            alone = bandit.guarantee.epsilon
            both = in_child(fork, lambda: bandit.guarantee.epsilon)
            three = in_child(fork, lambda: bandit.guarantee and in_child(fork, lambda: bandit.guarantee.epsilon))
            assert alone < both < three
            assert bandit.guarantee.epsilon == alone
            conditions = in_child(fork, lambda: bandit.guarantee.conditions)
            assert any("copies made later elsewhere are not known to it" in condition for condition in conditions)
        bandit = joint()
        assert in_child(fork, lambda: (bandit.replays, step(bandit) and bandit.replays)) == (1, 1)

    def test_a_child_counts_copies_that_were_pickled_before(self, fork):
        bandit = joint()
        for _ in range(3):
            pickle.dumps(bandit)
        # The original and three pickles; a copy made from the child counts the child too.
        assert in_child(fork, lambda: (bandit.replays, copy.deepcopy(bandit).replays)) == (4, 5)

    def test_a_grandchild_counts_a_child_that_did_nothing(self, fork):
        """Except that two forks in a row outside Python look like one."""
        bandit = joint()
        assert in_child(fork, lambda: in_child(os.fork, lambda: bandit.replays)) == 2
        bandit = joint()
        assert in_child(os.fork, lambda: in_child(fork, lambda: bandit.replays)) == 2

    @pytest.mark.parametrize("name", COUNTING)
    def test_whoever_counts_reports_has_no_forked_copy(self, fork, name):
        make, tell, remedy = COUNTING[name]
        half = make()

        def refused():
            with pytest.raises(reticent.ReticentError, match=f"forked copy.*{remedy}"):
                tell(half)
            return True

        assert in_child(fork, refused) and in_child(fork, lambda: in_child(fork, refused))
        tell(half)
        for again in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="pickle"):
                again(half)

    def test_a_value_is_protected_once(self, fork):
        bandit = local()
        ticket = bandit.decide().ticket

        def refused():
            with pytest.raises(reticent.ReticentError, match="open decisions: got 1; .*observe or dismiss"):
                bandit.observe(ticket, 0.5)
            return True

        assert in_child(fork, refused)
        with pytest.raises(reticent.ReticentError, match="open decisions: got 1; .*observe or dismiss"):
            pickle.dumps(bandit)
        alone = bandit.guarantee.epsilon
        bandit.observe(ticket, 0.5)
        assert in_child(fork, lambda: bandit.decide().ticket) == bandit.decide().ticket == 1
        bandit.dismiss(1)
        assert copy.deepcopy(bandit).guarantee.epsilon == bandit.guarantee.epsilon == alone

    def test_a_forked_shuffler_shows_no_report_twice(self, fork):
        plan = reticent.ShufflePlan(3, 1.0, 1e-6, batch=10)
        shuffler, report = plan.shuffler(), plan.person().report(plan.server().publish(), [1.0, 0.0, 0.0], 0.5)

        def refused():
            with pytest.raises(reticent.ReticentError, match="forked copy.*seen twice"):
                shuffler.absorb(report)
            with pytest.raises(reticent.ReticentError, match="forked copy"):
                shuffler.save()
            return True

        assert in_child(fork, refused)
        assert shuffler.absorb(report) is None


def test_forked_siblings_count_those_before_them():
    bandit = joint()
    assert [in_child(os.fork, lambda: bandit.replays) for _ in range(3)] == [1, 2, 3]
    assert bandit.replays == 0 and any("3 copies" in condition for condition in bandit.guarantee.conditions)
    assert copy.deepcopy(bandit).replays == 4
    assert copy.deepcopy(joint()).replays == 1     # a bandit that was made later was not forked


def _in_pool(_):
    return step(SHARED)


SHARED = joint()


def test_a_pool_of_processes():
    with multiprocessing.get_context("fork").Pool(4) as pool:
        thetas = pool.map(_in_pool, range(8), chunksize=1)
    assert len({tuple(theta) for theta in thetas}) == 8


@pytest.mark.parametrize("again", [lambda b: pickle.loads(pickle.dumps(b)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies_draw_their_own_noise_and_are_counted(again):
    for make, show in (NOISY["joint"], NOISY["convex"]):
        bandit = make()
        show(bandit)
        alone = bandit.guarantee.epsilon
        first, second = again(bandit), again(bandit)
        assert alone < first.guarantee.epsilon < second.guarantee.epsilon
        assert bandit.guarantee.epsilon == alone
        assert any("2 copies" in condition for condition in bandit.guarantee.conditions)
        shown = [show(bandit), show(first), show(second)]
        assert len({tuple(answer) for answer in shown}) == 3


def test_a_saved_state_remembers_its_copies():
    for make, made in ((joint, lambda b: (b.releases,)), (convex, lambda b: (b.releases, b.decisions))):
        bandit = make()
        pickle.dumps(bandit), pickle.dumps(bandit)
        moved = type(bandit).load(bandit.save(), *made(bandit))
        assert any("2 copies" in condition for condition in moved.guarantee.conditions)
        assert moved.guarantee.epsilon == bandit.guarantee.epsilon
        assert copy.deepcopy(moved).guarantee.epsilon == copy.deepcopy(bandit).guarantee.epsilon
        state = bandit.save()
        for index in range(8 * 40):
            flipped = bytearray(state)
            flipped[index // 8] ^= 1 << index % 8
            with pytest.raises(reticent.ReticentError):
                type(bandit).load(bytes(flipped), *made(bandit))


SAVING = {
    "joint": joint,
    "convex": convex,
    "convex, local": local,
    "agent": lambda: SAFE.agent(0),
    "coordinator": SAFE.coordinator,
    "shuffler": SHUFFLE.shuffler,
}


@pytest.mark.parametrize("name", SAVING)
def test_no_saved_bytes_hold_a_key(name):
    """Every release is drawn under a new key of the system: were one saved, two saves around a draw from the system would differ."""
    learner = SAVING[name]()
    assert learner.save() == learner.save()


def test_without_noise_two_saves_are_the_same():
    for learner in (plain(), PLAN.server(), SHUFFLE.server(), reticent.OnlineLearner(3, 1.0)):
        assert learner.save() == learner.save()


def test_one_file_loaded_twice_never_repeats_noise():
    bandit = joint()
    step(bandit)
    state = bandit.save()
    loads = [reticent.JointBandit.load(state, releases_made=1) for _ in range(2)]
    pickles = pickle.dumps(bandit)
    copies = [pickle.loads(pickles) for _ in range(2)]
    shown = [step(bandit), *map(step, loads), *map(step, copies)]
    assert len({tuple(answer) for answer in shown}) == 5
    assert any("by one process at a time" in condition for condition in bandit.guarantee.conditions)


def test_what_was_released_before_is_the_same_in_every_copy():
    bandit = joint()
    theta = step(bandit)
    assert copy.deepcopy(bandit).theta.tolist() == theta
    assert reticent.JointBandit.load(bandit.save(), bandit.releases).theta.tolist() == theta
