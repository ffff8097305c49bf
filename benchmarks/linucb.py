"""One round of LinUCB, decide and learn, with the arms in memory: reticent beside what people use in Python.

    python3 -m venv target/bench && target/bench/bin/pip install numpy mabwiser contextualbandits river vowpalwabbit
    cargo build --release && target/bench/bin/python benchmarks/linucb.py

Whatever does not install is left out and named. Every library sees the same unit arms and rewards. mabwiser and
contextualbandits have one model per arm and one context per round (disjoint LinUCB), river and Vowpal Wabbit score one
arm at a time: the same decision problem, not the same algorithm.
"""

import json
import statistics
import subprocess
import time

SIZES = [(5, 25), (5, 100), (32, 100), (64, 4096)]
SEED = 7


def sets(numpy, dimension, arms, count=8):
    generator = numpy.random.default_rng(SEED)
    every = generator.standard_normal((count, arms, dimension))
    return every / numpy.linalg.norm(every, axis=2, keepdims=True)


def microseconds(step, rounds):
    """The median of five batches."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for index in range(rounds):
            step(index)
        times.append((time.perf_counter() - start) / rounds * 1e6)
    return statistics.median(times)


def with_numpy(dimension, arms):
    import numpy

    every = sets(numpy, dimension, arms)
    inverse, moment, width = numpy.eye(dimension), numpy.zeros(dimension), 2.0

    def step(index):
        nonlocal inverse, moment
        x = every[index % len(every)]
        theta = inverse @ moment
        bound = x @ theta + width * numpy.sqrt(numpy.einsum("ij,ij->i", x @ inverse, x))
        chosen = x[numpy.argmax(bound)]
        image = inverse @ chosen
        inverse = inverse - numpy.outer(image, image) / (1.0 + chosen @ image)
        moment = moment + chosen[0] * chosen

    return microseconds(step, 2000 if arms < 1000 else 20)


def with_mabwiser(dimension, arms):
    import numpy
    from mabwiser.mab import MAB, LearningPolicy

    contexts = sets(numpy, dimension, 1)[:, 0]
    bandit = MAB(list(range(arms)), LearningPolicy.LinUCB(alpha=1.0))
    bandit.fit([0], [0.5], [contexts[0]])

    def step(index):
        context = contexts[index % len(contexts)]
        arm = bandit.predict([context])
        bandit.partial_fit([arm], [context[0]], [context])

    return microseconds(step, 50 if arms < 1000 else 2)


def with_contextualbandits(dimension, arms):
    import numpy
    from contextualbandits.online import LinUCB

    contexts = sets(numpy, dimension, 1)[:, 0]
    bandit = LinUCB(arms, alpha=1.0)
    bandit.fit(contexts[:1], numpy.array([0]), numpy.array([1.0]))

    def step(index):
        context = contexts[index % len(contexts)][None]
        arm = bandit.predict(context)
        bandit.partial_fit(context, arm, numpy.array([1.0]))

    return microseconds(step, 50 if arms < 1000 else 2)


def with_river(dimension, arms):
    import numpy
    from river import linear_model

    every = sets(numpy, dimension, arms)
    named = [[dict(enumerate(map(float, row))) for row in rows] for rows in every]
    model = linear_model.BayesianLinearRegression()

    def step(index):
        rows = named[index % len(named)]
        bounds = [model.predict_one(row, with_dist=True) for row in rows]
        best = max(range(len(rows)), key=lambda i: bounds[i].mu + bounds[i].sigma)
        model.learn_one(rows[best], rows[best][0])

    return microseconds(step, 5 if arms < 1000 else 1)


def with_vowpal_wabbit(dimension, arms):
    import numpy
    import vowpalwabbit

    every = sets(numpy, dimension, arms)
    lines = [
        [["shared |s"] + ["|a " + " ".join(f"{i}:{value}" for i, value in enumerate(row)) for row in rows]]
        for rows in every
    ]
    workspace = vowpalwabbit.Workspace("--cb_explore_adf --quiet")
    parsed = [[workspace.parse(block, vowpalwabbit.LabelType.CONTEXTUAL_BANDIT) for block in blocks] for blocks in lines]

    def step(index):
        for examples in parsed[index % len(parsed)]:
            workspace.predict(examples)

    return microseconds(step, 200 if arms < 1000 else 5)


def main():
    output = subprocess.run(
        ["target/release/reticent", "bench", "linucb", "--json"], capture_output=True, text=True, check=True
    )
    figures = json.loads(output.stdout)["sections"][0]["figures"]
    rows = {"reticent": [figure["measured"] for figure in figures]}
    others = {
        "numpy, one matrix": with_numpy,
        "mabwiser LinUCB": with_mabwiser,
        "contextualbandits LinUCB": with_contextualbandits,
        "river, Bayesian regression": with_river,
        "Vowpal Wabbit, pre-parsed, predict only": with_vowpal_wabbit,
    }
    for name, measure in others.items():
        rows[name] = []
        for dimension, arms in SIZES:
            # The slowest need minutes for one round of the largest size.
            if name.startswith(("river", "mabwiser", "contextualbandits")) and arms > 1000:
                rows[name].append(None)
                continue
            try:
                rows[name].append(measure(dimension, arms))
            except Exception as error:  # whatever a missing or broken package raises
                print(f"{name}: left out ({type(error).__name__}: {error})")
                rows[name].append(None)
                break
    print("microseconds a round".ljust(42), *(f"d={d},K={k}".rjust(14) for d, k in SIZES))
    for name, values in rows.items():
        cells = [f"{value:14.2f}" if value is not None else "-".rjust(14) for value in values]
        print(name.ljust(42), *cells)


if __name__ == "__main__":
    main()
