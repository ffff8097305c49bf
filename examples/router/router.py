"""Routes prompts to language models by quality and price, with a private loop. No model is called: their quality is the table below, and a judge's verdict is a coin."""

import argparse
import pathlib
import tomllib

import numpy

import reticent

FOLDER = pathlib.Path(__file__).parent
# Prompts that come from tick to tick of the loop, and the ticks of a day.
PROMPTS_PER_TICK = 500
DAY = 144
# The first prompts of each kind fitted the public projection, and are no traffic.
PUBLIC = 5
# Cost of a prompt at each model, in units of a good answer: the price times its weight.
PRICE = {"small": 0.02, "medium": 0.22, "large": 0.40}
# Probability of a good answer, by kind and model. Invented, and not known to the router.
QUALITY = {
    "small talk": (0.95, 0.95, 0.95),
    "facts": (0.85, 0.90, 0.95),
    "translation": (0.80, 0.90, 0.95),
    "summary": (0.80, 0.90, 0.95),
    "writing": (0.60, 0.85, 0.95),
    "arithmetic": (0.15, 0.60, 0.95),
    "code": (0.15, 0.60, 0.95),
    "reasoning": (0.10, 0.40, 0.95),
}
PRICES = numpy.array(list(PRICE.values()))
# Kinds whose best model is the cheapest, and the dearest.
EASY = ("small talk", "facts", "translation", "summary")
HARD = ("arithmetic", "code", "reasoning")


def traffic():
    """Kinds and embeddings of the prompts that people send."""
    kinds = [line.split("\t")[0] for line in (FOLDER / "prompts.tsv").read_text().splitlines()]
    rows = numpy.loadtxt(FOLDER / "embeddings.csv", delimiter=",")
    sent = [index for index, kind in enumerate(kinds) if kinds[:index].count(kind) >= PUBLIC]
    return [kinds[index] for index in sent], rows[sent]


def route(bandit, arms, quality, seed, ticks):
    """Routes the prompts of `ticks` ticks, learning after each: the prompts, and the models that answered."""
    chance = numpy.random.default_rng(seed)
    prompts = chance.integers(len(arms), size=(ticks, PROMPTS_PER_TICK))
    verdicts = chance.random(prompts.shape)
    chosen = numpy.empty_like(prompts)
    for tick, sent in enumerate(prompts):
        tickets, chosen[tick] = zip(*(bandit.decide(arms[prompt]) for prompt in sent))
        rewards = (verdicts[tick] < quality[sent, chosen[tick]]) - PRICES[chosen[tick]]
        for ticket, reward in zip(tickets, rewards):
            bandit.observe(ticket, reward)
        if hasattr(bandit, "tick"):
            bandit.tick()
    return prompts.ravel(), chosen.ravel()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ticks", type=int, default=DAY, help="ticks of one run, of 500 prompts each")
    options.add_argument("--seeds", type=int, default=3, help="runs, of which the median is printed")
    given = options.parse_args()

    loop = tomllib.loads((FOLDER / "loops.toml").read_text())["loop"]["router"]
    features = reticent.Features(loop["context"], loop["action"], loop["cross"])
    common = {
        "dimension": features.dimension,
        "intercept": features.constant,
        "rewards": tuple(map(float, loop["reward"]["range"])),
        "rule": loop["learner"]["explore"],
    }
    privacy = loop["privacy"]
    private = {
        **common,
        "epsilon": privacy["epsilon"],
        "delta": privacy["delta"],
        "contributions_per_person": privacy["visits"],
        # As the service does: a release a tick, and sums that forget.
        "schedule": "clock",
        "forget": seconds(loop["learner"]["forget"]) / seconds(loop["learner"]["tick"]),
    }

    kinds, rows = traffic()
    quality = numpy.array([QUALITY[kind] for kind in kinds])
    worth = quality - PRICES
    models = [{"model": name} for name in PRICE]
    arms = [features.arms({f"e{place}": number for place, number in enumerate(row, 1)}, models) for row in rows]
    easy, hard = (numpy.array([kind in group for kind in kinds]) for group in (EASY, HARD))
    fixed = worth.mean(axis=0).argmax()

    print(f"{len(kinds)} prompts of {len(QUALITY)} kinds, {len(PRICE)} models, {features.dimension} coordinates; {given.ticks} ticks of {PROMPTS_PER_TICK} prompts, medians of {given.seeds} seeds.")
    print(f"A prompt earns {worth.max(axis=1).mean():.3f} at best, {worth[:, fixed].mean():.3f} with `{list(PRICE)[fixed]}` always.")
    linear = best_linear(arms, worth)
    print(f"The best linear rule of these features earns {linear:.3f}.")
    print("\n| router | regret a prompt, to the best router | the same in the last quarter | more than the best fixed model | easy and hard prompts to `small`, last quarter |")
    print("| --- | --- | --- | --- | --- |")
    learners = {
        "without privacy": lambda seed: reticent.LinUCB(**common, seed=seed),
        f"private, epsilon = {privacy['epsilon']:g}": lambda seed: reticent.JointBandit.simulated(seed, **private),
    }
    for name, make in learners.items():
        results = []
        for seed in range(given.seeds):
            prompts, chosen = route(make(seed), arms, quality, seed, given.ticks)
            earned, best = worth[prompts, chosen], worth[prompts].max(axis=1)
            late = slice(len(prompts) * 3 // 4, None)
            small = [(chosen[late] == 0)[group[prompts[late]]].mean() for group in (easy, hard)]
            results.append(((best - earned).mean(), (best - earned)[late].mean(), (earned - worth[prompts, fixed]).mean(), *small))
        regret, last, more, *small = numpy.median(results, axis=0)
        print(f"| {name} | {regret:.3f} | {last:.3f} | {more:+.3f} | {small[0]:.0%} and {small[1]:.0%} |", flush=True)
    print(f"\n{reticent.JointBandit(**private).guarantee}")


def seconds(span):
    """A span of a loop's file."""
    number, unit = span.split()
    return float(number) * {"second": 1, "minute": 60, "hour": 3600, "day": 86400}[unit.removesuffix("s")]


def best_linear(arms, worth):
    """Earnings of the rule whose estimate of every prompt's worth is the best linear one."""
    vectors = numpy.concatenate([each.array() for each in arms])
    theta = numpy.linalg.lstsq(vectors, worth.ravel(), rcond=None)[0]
    chosen = (vectors @ theta).reshape(worth.shape).argmax(axis=1)
    return worth[range(len(worth)), chosen].mean()


if __name__ == "__main__":
    main()
