"""Functions that work wherever the package is installed: with numpy and nothing else. `cargo xtask artifacts` runs this file in an environment that has only the wheel."""

import importlib.metadata
import json
import pathlib

import numpy
import reticent
from reticent import lab, privacy

VISIT = pathlib.Path(__file__).parents[3] / "vectors" / "sealed" / "sum"


def test_the_accountant_prices_a_gaussian():
    assert abs(privacy.sigma(epsilon=1.0, delta=1e-5) - 3.7306316348) < 1e-9


def test_a_private_bandit_decides_observes_and_certifies():
    bandit = reticent.JointBandit(dimension=3, epsilon=1.0, delta=1e-6, horizon=1_000)
    environment = lab.Environment.gap(dimension=3, arms=5, seed=7)
    for _ in range(1_000):
        ticket, arm = bandit.decide(environment.arms())
        bandit.observe(ticket, environment.reward(arm))
    assert bandit.releases > 0
    assert "differentially private" in str(bandit.guarantee)
    assert bandit.decide(numpy.eye(3)).arm in range(3)


def test_a_device_seals_a_report():
    plan, sealing, shuffler, model, case = ((VISIT / f"{name}.json").read_bytes() for name in ("plan", "sealing", "shuffler", "model", "case"))
    limits = {"most_epsilon": 4.0, "most_delta": 1e-3}
    person = reticent.Person.from_sealing(plan, sealing, shuffler, "mixed", in_memory=True, **limits)
    person.set_model(model)
    visit = json.loads(case)
    report = person.report(person.choose(visit["context"], visit["actions"]), visit["reward"])
    kept = (VISIT / "report.bin").read_bytes()
    assert (len(report), report[:73]) == (len(kept), kept[:73])


if __name__ == "__main__":
    tests = [test for name, test in globals().items() if name.startswith("test_")]
    for test in tests:
        test()
    print(f"reticent {importlib.metadata.version('reticent')}: {len(tests)} tests passed")
