"""The Python package beside other packages, in one run: LinUCB on the same stream, and `run` beside the command line.

    cargo build --release
    python3 -m venv target/bench && target/bench/bin/pip install . mabwiser contextualbandits river
    target/bench/bin/python benchmarks/python.py

The stream: d = 5, K = 25 arms that stay, rewards of +-1 whose means are linear in the arms' features (the `gap` environment); the same
rewards for every algorithm that plays the same arm in the same round. mabwiser and contextualbandits have one model per arm and cannot be
given the arms' features, so they get a constant context: the same decision problem, not the same algorithm. Whatever does not
install is left out and named. Widths differ: ours is the theorem's for rewards of +-1 unless it says otherwise, numpy's and river's are two
deviations, the others' are their alpha = 1; regret says as much about that as about speed. Compiled cost: the same work in one batch call.
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import reticent
from reticent import lab

DIMENSION, ARMS, SEED = 5, 25, 7
ROOT = pathlib.Path(__file__).parents[1]


class Stream:
    """Arms, means, and the reward that every arm would have in every round."""

    def __init__(self, rounds):
        environment = lab.Environment.gap(DIMENSION, ARMS, gap=0.1, fresh_arms=False, seed=SEED)
        self.arms, self.means = environment.arms(), environment.means()
        draws = numpy.random.default_rng(SEED).random((rounds, ARMS))
        self.rewards = numpy.where(draws < 0.5 + self.means / 2, 1.0, -1.0)

    def play(self, decide, observe, rounds):
        """Microseconds a round, and the regret."""
        chosen = []
        start = time.perf_counter()
        for number in range(rounds):
            handle, arm = decide()
            observe(handle, arm, self.rewards[number, arm])
            chosen.append(arm)
        seconds = time.perf_counter() - start
        return 1e6 * seconds / rounds, float((self.means.max() - self.means[chosen]).sum())


def ours(make, fixed):
    def start(stream):
        learner, arms = make(), reticent.Arms(stream.arms) if fixed else stream.arms
        return (lambda: learner.decide(arms)), (lambda ticket, arm, reward: learner.observe(ticket, reward))

    return start


def linucb():
    return reticent.LinUCB(DIMENSION)


def joint():
    return reticent.JointBandit(DIMENSION, 1.0, 1e-6, 10_000_000)


def with_numpy(stream):
    inverse, moment, x = numpy.eye(DIMENSION), numpy.zeros(DIMENSION), stream.arms

    def decide():
        bound = x @ (inverse @ moment) + 2.0 * numpy.sqrt(numpy.einsum("ij,ij->i", x @ inverse, x))
        return None, int(numpy.argmax(bound))

    def observe(_, arm, reward):
        nonlocal inverse, moment
        image = inverse @ x[arm]
        inverse = inverse - numpy.outer(image, image) / (1.0 + x[arm] @ image)
        moment = moment + reward * x[arm]

    return decide, observe


def with_mabwiser(stream):
    from mabwiser.mab import MAB, LearningPolicy

    context = [[1.0]]
    bandit = MAB(list(range(ARMS)), LearningPolicy.LinUCB(alpha=1.0))
    bandit.fit([0], [0.0], context)
    return (lambda: (None, bandit.predict(context))), (lambda _, arm, reward: bandit.partial_fit([arm], [reward], context))


def with_contextualbandits(stream):
    from contextualbandits.online import LinUCB

    context = numpy.ones((1, 1))
    bandit = LinUCB(ARMS, alpha=1.0, random_state=SEED)
    bandit.fit(context, numpy.array([0]), numpy.array([0.0]))

    def observe(_, arm, reward):
        bandit.partial_fit(context, numpy.array([arm]), numpy.array([reward]))

    return (lambda: (None, int(bandit.predict(context)[0]))), observe


def with_river(stream):
    from river import linear_model

    rows = [dict(enumerate(map(float, row))) for row in stream.arms]
    model = linear_model.BayesianLinearRegression()

    def decide():
        bounds = [model.predict_one(row, with_dist=True) for row in rows]
        return None, max(range(ARMS), key=lambda arm: bounds[arm].mu + 2.0 * bounds[arm].sigma)

    return decide, (lambda _, arm, reward: model.learn_one(rows[arm], reward))


def side_by_side(rounds):
    stream = Stream(max(rounds, 20_000))
    print(f"d = {DIMENSION}, K = {ARMS}, {rounds} rounds".ljust(44), "us a round", "regret".rjust(9))
    algorithms = {
        "reticent LinUCB, Arms built once": ours(linucb, True),
        "reticent LinUCB, arms as an array": ours(linucb, False),
        "reticent LinUCB, reward_noise 0.3: not certified": ours(lambda: reticent.LinUCB(DIMENSION, rule={"certified": {"reward_noise": 0.3}}), True),
        "reticent JointBandit (1, 1e-6), Arms": ours(joint, True),
        "reticent JointBandit (1, 1e-6), array": ours(joint, False),
        "numpy, one matrix": with_numpy,
        "river, Bayesian linear regression": with_river,
        "contextualbandits LinUCB, constant context": with_contextualbandits,
        "mabwiser LinUCB, constant context": with_mabwiser,
    }
    for name, start in algorithms.items():
        try:
            start(stream)
        except ImportError as error:
            print(f"{name}: left out ({error})")
            continue
        # The quick ones are timed over five runs of ten times as many rounds; the regret is that of `rounds`.
        _, regret = stream.play(*start(stream), rounds)
        if name.startswith(("reticent", "numpy")):
            microseconds = statistics.median(stream.play(*start(stream), 20_000)[0] for _ in range(5))
        else:
            microseconds, _ = stream.play(*start(stream), rounds)
        print(f"{name:<44} {microseconds:10.2f} {regret:9.1f}")


def overhead(people=200_000):
    """Cost of a call from Python above the compiled work."""
    stream = Stream(1000)
    arms = reticent.Arms(stream.arms)
    rewards = numpy.resize(stream.rewards[:, 0], people)
    print("\ndecide + observe".ljust(44), "us a round", "compiled", "overhead", sep="  ")
    for name, make in (("LinUCB", linucb), ("JointBandit", joint)):

        def batch():
            learner = make()
            spent = 0.0
            for start in range(0, people, 1000):
                begin = time.perf_counter()
                tickets, _ = learner.decide_many(arms, people=1000)
                learner.observe_many(tickets, rewards[start : start + 1000])
                spent += time.perf_counter() - begin
            return 1e6 * spent / people

        def single(fixed):
            learner, set_ = make(), arms if fixed else stream.arms
            decide, observe = learner.decide, learner.observe
            begin = time.perf_counter()
            for _ in range(people // 10):
                decision = decide(set_)
                observe(decision.ticket, 1.0)
            return 1e6 * (time.perf_counter() - begin) / (people // 10)

        compiled = statistics.median(batch() for _ in range(5))
        for fixed in (True, False):
            called = statistics.median(single(fixed) for _ in range(5))
            how = "Arms" if fixed else "array"
            print(f"{name + ', ' + how:<44} {called:10.2f} {compiled:9.2f} {called - compiled:9.2f}")


def beside_the_command_line(repeats=5):
    binary = ROOT / "target/release/reticent"
    experiment = ROOT / "examples/joint.toml"
    if not binary.exists():
        print("the command line is not built: cargo build --release")
        return
    times = {"lab.run": [], "reticent run": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repeats):
            start = time.perf_counter()
            lab.run(experiment, f"{folder}/python{number}")
            times["lab.run"].append(time.perf_counter() - start)
            start = time.perf_counter()
            subprocess.run([binary, "run", experiment, "--out", f"{folder}/cli{number}"], check=True, capture_output=True)
            times["reticent run"].append(time.perf_counter() - start)
    print(f"\n{experiment.name}: " + ", ".join(f"{name} {min(seconds):.3f} s" for name, seconds in times.items()) + f" (best of {repeats})")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=2000)
    arguments = arguments.parse_args()
    overhead()
    print()
    side_by_side(arguments.rounds)
    beside_the_command_line()
