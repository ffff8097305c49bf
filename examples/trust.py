"""One loop under three trust models: regret, bytes that leave a visitor, and what each party sees. The loop and its simulated visitors are those of `examples/backend`.

    python examples/trust.py
"""

import argparse
import importlib.util
import json
import pathlib
import tomllib

import numpy

import reticent

FOLDER = pathlib.Path(__file__).parent / "backend"
# Visitors from model to model: a tick of the curator, a batch of the shuffler.
TICK = 500
# The loop's half-life, in its ticks. Its rule is Thompson sampling, whose seed comes from the system; `tuned` chooses the same in every run.
FORGET = 3600.0


def non_private(common, _budget, seed):
    return curated(reticent.LinUCB(**common, seed=seed))


def curator(common, budget, seed):
    return curated(reticent.JointBandit.simulated(seed, **common, **budget, schedule="clock", forget=FORGET))


def curated(bandit):
    """A server that sees everything, and learns when the clock ticks."""
    rewards = []

    def visit(arms, _number, click):
        ticket, arm = bandit.decide(arms)
        rewards.append((ticket, click(arm)))
        return arm

    def tick():
        for ticket, reward in rewards:
            bandit.observe(ticket, reward)
        rewards.clear()
        if hasattr(bandit, "tick"):
            bandit.tick()

    return visit, tick


def shuffler(aggregation):
    def start(common, budget, seed):
        plan = reticent.ShufflePlan(**common, **budget, batch=TICK, honest=TICK // 2, aggregation=aggregation)
        mixer, server = plan.simulated_shuffler(seed), plan.server()
        return reporting(plan, server, seed, lambda report: (batch := mixer.absorb(report)) and server.absorb(batch))

    return start


def device(common, budget, seed):
    plan = reticent.LocalPlan(**common, **budget)
    server = plan.server()
    return reporting(plan, server, seed, server.absorb)


def reporting(plan, server, seed, send):
    """Visitors whose devices choose by the last model and report once."""
    model = [server.publish()]

    def visit(arms, number, click):
        person = plan.simulated_person(seed << 32 | number)
        arm = person.choose(model[0], arms)
        send(person.report(model[0], arms.array()[arm], click(arm)))
        return arm

    def tick():
        model[0] = server.publish()

    return visit, tick


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--visitors", type=int, default=10_000)
    options.add_argument("--seeds", type=int, default=3, help="runs, of which the median is printed")
    options.add_argument("--epsilon", type=float, help="in place of the loop's")
    given = options.parse_args()
    found = importlib.util.spec_from_file_location("backend", FOLDER / "app.py")
    backend = importlib.util.module_from_spec(found)
    found.loader.exec_module(backend)

    loop = tomllib.loads((FOLDER / "loops.toml").read_text())["loop"]["front"]
    features = reticent.Features(loop["context"], loop["action"], loop["cross"])
    rewards = tuple(map(float, loop["reward"]["range"]))
    common = {"dimension": features.dimension, "intercept": features.constant, "rewards": rewards, "rule": "tuned"}
    budget = {"epsilon": given.epsilon or loop["privacy"]["epsilon"], "delta": loop["privacy"]["delta"]}
    actions = [{"offer": offer} for offer in backend.OFFERS]
    devices = list(backend.TASTE)
    arms = [features.arms({"device": name}, actions) for name in devices]
    taste = numpy.array([list(backend.TASTE[name].values()) for name in devices])

    # The messages: bodies of a rank request and a reward; a report; a sealed report, which is a header, an encapsulated key, a tag and 8 bytes a number.
    request = {"event_id": "0" * 36, "person": "0" * 22, "context": {"device": "phone"}, "actions": [{"id": each["offer"], "features": each} for each in actions]}
    asked = len(json.dumps(request)) + len(json.dumps({"value": 1.0, "idempotency_key": "0" * 36}))
    local, mixed = reticent.LocalPlan(**common, **budget), {}
    for aggregation in ("permute", "sum"):
        mixed[aggregation] = reticent.ShufflePlan(**common, **budget, batch=TICK, honest=TICK // 2, aggregation=aggregation)
    report = lambda plan: plan.simulated_person(0).report(plan.server().publish(), arms[0].array()[0], 1.0)
    sealed = {name: 89 + 48 + 8 * len(report(plan).values) for name, plan in mixed.items()}

    rows = [
        ("non-private", non_private, asked, "everything", "", None),
        ("`curator`", curator, asked, "everything", "", reticent.JointBandit(**common, **budget, schedule="clock", forget=FORGET).guarantee),
        ("`shuffler`, sum", shuffler("sum"), sealed["sum"], "one sum a batch", "weakly noised reports, addresses, times", mixed["sum"].guarantee),
        ("`shuffler`, sealed", shuffler("permute"), sealed["permute"], "batches in random order", "sealed bytes, addresses, times", mixed["permute"].guarantee),
        ("`device`", device, len(bytes(report(local))), "every noised report, its address and time", "", local.guarantee()),
    ]
    print(f"{features.dimension} coordinates, {given.visitors} visitors who come once, a model after every {TICK}, medians of {given.seeds} seeds.")
    print("\n| trust | regret a visit | the same in the last quarter | bytes that leave a visitor | the server sees | the shuffler sees |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, start, size, server_sees, shuffler_sees, _ in rows:
        results = []
        for seed in range(given.seeds):
            visit, tick = start(common, budget, seed)
            chance = numpy.random.default_rng(seed)
            people, clicks, lost = chance.integers(len(arms), size=given.visitors), chance.random(given.visitors), numpy.empty(given.visitors)
            for number, (kind, coin) in enumerate(zip(people, clicks)):
                arm = visit(arms[kind], number, lambda arm: float(coin < taste[kind, arm]))
                lost[number] = taste[kind].max() - taste[kind, arm]
                if number % TICK == TICK - 1:
                    tick()
            results.append((lost.mean(), lost[given.visitors * 3 // 4 :].mean()))
        regret, last = numpy.median(results, axis=0)
        print(f"| {name} | {regret:.3f} | {last:.3f} | {size:,} | {server_sees} | {shuffler_sees} |", flush=True)
    print()
    for name, *_, guarantee in rows:
        if guarantee is not None:
            print(f"- {name}: {guarantee}")
    for name, plan in (("sum", mixed["sum"]), ("sealed", mixed["permute"])):
        print(f"- `shuffler`, {name}, if shuffler and server work together: {plan.local_guarantee}")


if __name__ == "__main__":
    main()
