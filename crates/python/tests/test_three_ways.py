"""One experiment three ways: `three_ways_tests.rs` compares a file and core alone with `vectors/decisions`, and here Python makes the same decisions."""

import json
import pathlib

import pytest

import reticent
from reticent import lab

ROUNDS, SEED, DELTA = 600, 3, 1e-5
FOLDER = pathlib.Path(__file__).parents[3] / "vectors" / "decisions"

# Kind, name, keys of the file and of Python, epsilon.
CASES = [
    ("joint", "tuned", {"rule": "tuned"}, 8.0),
    ("joint", "certified", {"rule": "certified"}, 8.0),
    ("joint", "window", {"rule": "tuned", "window": 40}, 8.0),
    ("joint", "thompson", {"rule": "thompson"}, 8.0),
    ("linucb", "tuned", {"rule": "tuned"}, None),
    ("linucb", "certified", {"rule": "certified"}, None),
    ("linucb", "thompson", {"rule": "thompson"}, None),
    ("local", "tuned", {"rule": "tuned"}, 8.0),
    ("local", "certified", {"rule": "certified", "method": "gram_gaussian"}, 8.0),
    ("shuffle", "tuned", {"rule": "tuned"}, 1.0),
    ("online_ucb", "maler", {}, 20.0),
    ("online_ucb", "descent", {"learner": "gradient_descent", "step": 0.01, "width": 2.0}, 20.0),
    ("anytime", "maler", {"width": 1.0}, 20.0),
    ("combiner", "maler", {"exp_concave": False, "gradient_bound": 9.0}, 20.0),
    ("online_linucb", "maler", {}, None),
    ("online_linucb", "descent", {"learner": "gradient_descent", "width": 1.5}, None),
]

# A change that decides otherwise, for each kind.
PLANTED = {"online_ucb": {"width": 0.3}, "anytime": {"width": 0.3}, "combiner": {"width": 0.3}, "online_linucb": {"width": 0.3}}

BOUNDS = dict(dimension=4, rewards=(0.0, 1.0), intercept=0.5**0.5)


def ticketed(bandit, environment):
    for _ in range(ROUNDS):
        ticket, arm = bandit.decide(environment.arms())
        bandit.observe(ticket, environment.reward(arm))
        yield arm


def joint(environment, seed, epsilon, keys):
    return ticketed(reticent.JointBandit.simulated(seed, **BOUNDS, unit_arms=True, epsilon=epsilon, delta=DELTA, horizon=ROUNDS, **keys), environment)


def linucb(environment, seed, epsilon, keys):
    return ticketed(reticent.LinUCB(**BOUNDS, seed=seed, **keys), environment)


def answered(person, model, environment):
    arms = environment.arms()
    arm = person.choose(model, arms)
    return arm, person.report(model, arms[arm], environment.reward(arm))


def local(environment, seed, epsilon, keys):
    plan = reticent.LocalPlan(**BOUNDS, epsilon=epsilon, delta=DELTA, unit_arms=True, **keys)
    server, noise = plan.server(), lab.SimulationNoise(seed)
    model = server.publish()
    for _ in range(ROUNDS):
        noise.uniform()                 # which level a person brings is drawn, where there is one too
        arm, report = answered(plan.simulated_person(noise.bits()), model, environment)
        server.absorb(report)
        if server.reports <= 200 or server.reports % 20 == 0:   # when an experiment publishes
            model = server.publish()
        yield arm


def shuffle(environment, seed, epsilon, keys):
    plan = reticent.ShufflePlan(**BOUNDS, epsilon=epsilon, delta=DELTA, unit_arms=True, horizon=ROUNDS, **keys)
    noise = lab.SimulationNoise(seed)
    shuffler, server = plan.simulated_shuffler(noise.bits()), plan.server()
    model = server.publish()
    for _ in range(ROUNDS):
        arm, report = answered(plan.simulated_person(noise.bits()), model, environment)
        batch = shuffler.absorb(report)
        if batch is not None:
            server.absorb(batch)
            model = server.publish()
        yield arm


def protocol(server, environment, seed):
    devices = server.device().simulated(seed)
    several = isinstance(server, reticent.Combiner)
    for number in range(1, ROUNDS + 1):
        arms, base = environment.arms(), (server.current,) if several else ()
        arm = reticent.Policy(bytes(server.policy())).decide(arms, randomness=number)
        server.absorb(*base, bytes(devices.report(arms[arm], environment.reward(arm))))
        yield arm


PUBLIC = dict(dimension=4, delta=DELTA, rewards=(0.0, 1.0))


def online_ucb(environment, seed, epsilon, keys):
    return protocol(reticent.OnlineUCB(**PUBLIC, epsilon=epsilon, horizon=ROUNDS, **keys), environment, seed)


def anytime(environment, seed, epsilon, keys):
    return protocol(reticent.Anytime(**PUBLIC, epsilon=epsilon, **keys), environment, seed)


def combiner(environment, seed, epsilon, keys):
    return protocol(reticent.Combiner(**PUBLIC, epsilon=epsilon, horizon=ROUNDS, **keys), environment, seed)


def online_linucb(environment, seed, epsilon, keys):
    # Facts about the environment: theta* has norm 1, rewards lie in [0, 1].
    facts = dict(dimension=4, parameter_bound=1.0, reward_noise=0.5, failure_probability=1 / ROUNDS)
    return ticketed(reticent.OnlineLinUCB(**facts, horizon=ROUNDS, **keys), environment)


PLAY = {
    "joint": joint, "linucb": linucb, "local": local, "shuffle": shuffle,
    "online_ucb": online_ucb, "anytime": anytime, "combiner": combiner, "online_linucb": online_linucb,
}


def world_and_seed():
    people, seed = lab.trial_seeds(SEED, 0, "it")
    environment = lab.Environment.sphere(people, dimension=4, arms=8, fresh_arms=True)
    environment.arms()                        # the runner skips the first set too
    return environment, seed


@pytest.mark.parametrize(("kind", "name", "keys", "epsilon"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_python_makes_the_decisions_of_a_file_and_of_rust(kind, name, keys, epsilon):
    privacy = {} if epsilon is None else {"privacy": {"epsilon": epsilon, "delta": DELTA}}
    experiment = {
        "name": "one bandit",
        "rounds": ROUNDS,
        "seed": SEED,
        "environment": {"kind": "sphere", "dimension": 4, "arms": 8, "fresh_arms": True},
        "algorithm": [{"kind": kind, "name": "it", **keys, **privacy}],
    }
    # The environment tells a certified rule what it knows; the experiment prints the rule as Python takes it.
    for remark in lab.certify(experiment)["it"].remarks:
        if "the same rule, with what the environment knows, is " in remark:
            keys = {**keys, "rule": json.loads(remark.split(" is ")[-1])}
    assert isinstance(keys.get("rule"), dict) == (name == "certified")
    expected = (FOLDER / f"{kind}_{name}.csv").read_text().splitlines()
    play = PLAY[kind]
    environment, seed = world_and_seed()
    assert ["round,arm"] + [f"{at},{arm}" for at, arm in enumerate(play(environment, seed, epsilon, keys), 1)] == expected
    # Planted: another rule or another width decides otherwise.
    environment, seed = world_and_seed()
    planted = {**keys, **PLANTED.get(kind, {"rule": "fixed"})}
    assert ["round,arm"] + [f"{at},{arm}" for at, arm in enumerate(play(environment, seed, epsilon, planted), 1)] != expected


def test_every_vector_is_played():
    assert {path.stem for path in FOLDER.glob("*.csv")} == {f"{kind}_{name}" for kind, name, *_ in CASES}
