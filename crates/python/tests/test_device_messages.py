"""The golden visit of a device (`vectors/device`), which Rust and JavaScript make: Python reads its messages and writes the same bytes."""

import json
import pathlib

import numpy as np
import pytest

import reticent

FOLDER = pathlib.Path(__file__).parents[3] / "vectors" / "device"
CASE = json.loads((FOLDER / "case.json").read_text())


@pytest.mark.parametrize(("name", "kind"), [("model", reticent.Model), ("report", reticent.Report)])
def test_messages_are_read_and_written_with_the_same_bytes(name, kind):
    message = (FOLDER / f"{name}.json").read_bytes()
    assert bytes(kind(message)) == message
    with pytest.raises(ValueError, match=name):
        kind(message[:-1])


def test_python_makes_the_vectors_of_the_visit_and_finds_the_chosen_action_possible():
    rule = json.loads((FOLDER / "protocol.json").read_text())["features"]
    features = reticent.Features.from_json(json.dumps({"kind": "features", "version": 1, **rule}))
    arms = features.arms(CASE["context"], CASE["actions"])
    model = reticent.Model((FOLDER / "model.json").read_bytes())
    probabilities = model.probabilities(arms)
    assert np.isclose(probabilities.sum(), 1.0)
    assert probabilities[CASE["index"]] > 0
