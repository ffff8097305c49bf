"""A bandit in files: it may be killed at any moment and makes no release twice without a charge."""

import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import time

import numpy
import pytest
import reticent

PARAMETERS = dict(dimension=2, epsilon=1.0, delta=1e-6, horizon=1_000_000, schedule="every_round")
ARMS = numpy.eye(2)

CHILD = """
import sys, numpy, reticent
bandit = reticent.JointBandit.open(sys.argv[1], dimension=2, epsilon=1.0, delta=1e-6, horizon=1_000_000, schedule="every_round")
while True:
    ticket, arm = bandit.decide(numpy.eye(2))
    bandit.observe(ticket, 0.5)
    # State that others may have seen: the number of the release in use, and the model.
    print(bandit.releases, bandit.theta.tobytes().hex(), flush=True)
"""


def bandit(folder, **options):
    return reticent.JointBandit.open(folder, **PARAMETERS, **options)


def step(learner):
    learner.observe(learner.decide(ARMS).ticket, 0.5)
    return learner.theta.tolist()


def records(folder):
    lines = (pathlib.Path(folder) / "releases.log").read_text().splitlines()[1:]
    return [tuple(int(word.split("=")[1]) for word in line.split(" ")[:3]) for line in lines if " check=" in line]


def killed(folder, seconds):
    """The output of a child that is killed with -9."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, folder], stdout=subprocess.PIPE, text=True)
    first = child.stdout.readline()
    time.sleep(seconds)
    os.kill(child.pid, signal.SIGKILL)
    shown = [first, *child.stdout.read().split("\n")]
    child.wait()
    pairs = [line.split() for line in shown if len(line.split()) == 2]
    return {int(number): theta for number, theta in pairs if len(theta) == 32}


def test_killed_with_9_no_release_is_made_twice(tmp_path):
    folder = str(tmp_path / "bandit")
    seen = {}
    for kill in range(8):
        shown = killed(folder, 0.02 + 0.013 * kill)
        assert shown
        for number, theta in shown.items():
            assert seen.setdefault(number, theta) == theta, f"release {number} was shown twice with different numbers"
        # Everything shown is in the log.
        assert max(shown) <= records(folder)[-1][0]
    with bandit(folder) as learner:
        assert learner.replays == 0 and learner.releases >= max(seen)
    numbers = [release for release, _, _ in records(folder)]
    assert numbers == sorted(set(numbers)), "a number was drawn twice"
    assert len(seen) > 8


def test_an_old_copy_is_detected_and_charged(tmp_path):
    folder, old = tmp_path / "bandit", tmp_path / "old"
    with bandit(folder) as learner:
        step(learner)
        shutil.copy(folder / "state.reticent", old)
        alone, thetas = learner.guarantee.epsilon, [step(learner)]
    for replays in (1, 2):
        shutil.copy(old, folder / "state.reticent")
        with pytest.raises(reticent.StaleState, match=f"saved state: got 1 releases; expected {1 + replays}, which have been made already; restore the newest state"):
            bandit(folder)
        with bandit(folder, rollback="charge") as learner:
            assert learner.replays == replays and learner.guarantee.epsilon > alone
            thetas.append(step(learner))
        assert bandit(folder).replays == replays
    assert len({tuple(theta) for theta in thetas}) == 3
    # A known-bad variant: state and count are stored together, both are old, and nothing is detected.
    memory = reticent.JointBandit(**PARAMETERS)
    step(memory)
    stored = memory.save(), memory.releases
    step(memory)
    assert reticent.JointBandit.load(*stored).replays == 0


def test_a_log_elsewhere_detects_an_old_copy_of_the_whole_folder(tmp_path):
    folder, log, old = tmp_path / "bandit", tmp_path / "log", tmp_path / "old"
    with bandit(folder, log=log) as learner:
        step(learner)
    shutil.copytree(folder, old)
    with bandit(folder, log=log) as learner:
        step(learner)
    shutil.rmtree(folder)
    shutil.copytree(old, folder)
    with pytest.raises(reticent.StaleState):
        bandit(folder, log=log)


def test_it_stays_with_its_process_and_its_files(tmp_path):
    learner = bandit(tmp_path)
    with pytest.raises(reticent.ReticentError, match="another process"):
        bandit(tmp_path)
    for call in (learner.save, lambda: pickle.dumps(learner)):
        with pytest.raises(reticent.ReticentError, match="in files"):
            call()
    child = os.fork()
    if child == 0:
        try:
            step(learner)
        except reticent.ReticentError as error:
            os._exit(7 if "forked copy" in str(error) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    step(learner)
    learner.close()
    with pytest.raises(reticent.ReticentError, match="closed"):
        learner.decide(ARMS)
    with pytest.raises(reticent.ReticentError, match="other parameters"):
        reticent.JointBandit.open(tmp_path, **{**PARAMETERS, "epsilon": 2.0})
    with pytest.raises(reticent.ReticentError, match="refuse"):
        bandit(tmp_path, rollback="maybe")
    with pytest.raises(TypeError):
        reticent.JointBandit.open(tmp_path, dimension=2, oak=1)


def test_a_disk_that_fails_amid_many_decisions_leaves_none_without_a_holder(tmp_path):
    parameters = {**PARAMETERS, "window": 3}
    learner = reticent.JointBandit.open(tmp_path, **parameters)
    kept = learner.decide(ARMS).ticket
    obstacle = tmp_path / "state.new"
    obstacle.mkdir()
    # The fourth decision closes the first one; the release cannot be stored, and the fifth decision is refused.
    with pytest.raises(reticent.ReticentError, match="entry 3, .*: got .*cannot be written"):
        learner.decide_many(ARMS, people=10)
    assert learner.decisions == 4 and learner.releases == 1
    obstacle.rmdir()
    waiting = [ticket for ticket, _ in learner.open_tickets()]
    assert len(waiting) == 3 and kept not in waiting
    for ticket in waiting:
        with pytest.raises(reticent.ReticentError, match="dismissed"):
            learner.observe(ticket, 1.0)
    # They close later with zeros, and later decisions are not affected.
    tickets, _ = learner.decide_many(ARMS, people=10)
    assert learner.decisions == 14 and len(tickets) == 10
    learner.close()
