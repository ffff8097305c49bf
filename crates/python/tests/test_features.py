"""The rule from records to vectors: the bits of another program, every form of a record, and refusals."""

import copy
import json
import pathlib
import pickle

import numpy
import optional
import pytest
import reticent

VECTORS, MAPS = (json.loads((pathlib.Path(__file__).parents[3] / "vectors" / name).read_text()) for name in ("features.json", "feature_maps.json"))
RULE = dict(
    context={"user": {"age": {"range": [18, 80]}, "device": {"categories": ["phone", "computer"]}}},
    action={"topic": {"categories": ["news", "sport", "music"]}, "length": {"range": [0, 60]}},
    cross=[("user.device", "topic")],
)
CONTEXT = {"user": {"age": 31, "device": "phone"}}
ACTIONS = [{"topic": "sport", "length": 12.5}, {"topic": "news", "length": 60}]


def rule(**changes):
    return reticent.Features(**{**RULE, **changes})


@pytest.mark.parametrize("file, least", [(VECTORS, 7), (MAPS, 11)])
def test_vectors_have_the_bits_of_another_program(file, least):
    assert len(file["cases"]) >= least
    for case in file["cases"]:
        features = reticent.Features(**case["rule"])
        assert features.dimension == case["dimension"] == len(features.names)
        for (context, action), expected in zip(file["records"], case["vectors"], strict=True):
            vector = features.vector(context, action)
            found = [[int(i), float(vector[i])] for i in numpy.flatnonzero(vector)]
            assert found == expected, (case["name"], context, action)
        assert {key: features.report[key] for key in ("context", "action", "shortened")} == case["report"]


def test_arms_are_the_vectors_and_a_bandit_takes_them():
    features = rule()
    arms = features.arms(CONTEXT, ACTIONS)
    assert isinstance(arms, reticent.Arms) and len(arms) == 2 and arms.dimension == features.dimension == 14
    for row, action in zip(arms.array(), ACTIONS):
        assert (row == features.vector(CONTEXT, action)).all() and numpy.linalg.norm(row) <= 1 + 1e-12
        assert row[-1] == features.constant
    bandit = reticent.JointBandit(features.dimension, 1.0, 1e-6, 100, intercept=features.constant)
    ticket, arm = bandit.decide(arms)
    bandit.observe(ticket, 0.5)
    assert arm in (0, 1)


def test_every_form_of_a_record_is_the_same():
    features = rule()
    expected = features.vector(CONTEXT, ACTIONS[0])
    assert features.context_names == ["user.age", "user.device"] and features.action_names == ["length", "topic"]
    forms = [
        ({"user.age": "31", "user.device": "phone"}, {"topic": "sport", "length": "12.5"}),
        ([{"user": {"age": 31.0}}, {"user": {"device": "phone"}}], [ACTIONS[0]]),
        ([31, "phone"], (12.5, "sport")),
        (numpy.array([31, "phone"], dtype=object), numpy.array([12.5, "sport"], dtype=object)),
        (numpy.array(["31", "phone"]), numpy.array(["12.5", "sport"])),
        ({"user": {"age": numpy.int64(31), "device": numpy.str_("phone")}}, {"topic": "sport", "length": numpy.float32(12.5)}),
    ]
    for context, action in forms:
        assert (features.vector(context, action) == expected).all(), (context, action)
    with pytest.raises(reticent.ReticentError, match="context: got 3 entries; expected 2"):
        features.vector([1, 2, 3], ACTIONS[0])
    with pytest.raises(reticent.ReticentError, match="context: got no record"):
        features.vector("phone", ACTIONS[0])
    assert (features.vector(None, ACTIONS[0]) == features.vector({}, ACTIONS[0])).all()


def test_rows_and_frames_of_pandas():
    pandas = optional.package("pandas")
    features = rule()
    expected = features.arms(CONTEXT, ACTIONS).array()
    row = pandas.DataFrame([{"user.age": 31, "user.device": "phone"}]).iloc[0]
    assert (features.arms(row, pandas.DataFrame(ACTIONS)).array() == expected).all()
    features.clear_report()
    features.vector({"user.age": pandas.NA, "user.device": pandas.NaT}, {"topic": None, "length": float("nan")})
    assert [features.report["context"][name]["missing"] for name in features.context_names] == [1, 1]
    assert [features.report["action"][name]["missing"] for name in features.action_names] == [1, 1]


def test_no_record_fails_and_what_was_odd_is_counted():
    features = rule()
    cycle = {}
    cycle["user"] = [cycle]
    odd = [{}, [], {"user": 3}, {"user": {"age": object(), "device": 10**60}}, {"user": {"age": 10**400}}, {"user": {"age": 10**5000}}, {1: 2, None: 3}, cycle]
    for record in odd:
        vector = features.vector(record, record)
        assert numpy.isfinite(vector).all() and numpy.linalg.norm(vector) <= 1 + 1e-12
    counts = features.report["context"]
    assert counts["user.age"] == {"clipped": 1, "unknown": 0, "missing": 5, "mistyped": 2}
    assert counts["user.device"] == {"clipped": 0, "unknown": 1, "missing": 7, "mistyped": 0}
    features.clear_report()
    assert features.report == {"contexts": 0, "actions": 0, "context": {}, "action": {}, "shortened": 0}


def test_copies_have_the_rule_and_not_the_counts():
    features = rule(projection={"dimension": 6, "seed": 3})
    features.vector({}, {})
    for same in (pickle.loads(pickle.dumps(features)), copy.deepcopy(features), reticent.Features.from_json(features.to_json())):
        assert same == features and same != rule()
        assert same.report["contexts"] == 0
        assert (same.vector(CONTEXT, ACTIONS[0]) == features.vector(CONTEXT, ACTIONS[0])).all()
    assert features.names == [*(f"projection#{i}" for i in range(5)), "constant"]


def test_bad_rules_are_named():
    for changes, message in [
        ({"context": {"age": {"range": [80, 18]}}, "cross": None}, r"range: got \[80, 18\] for context.age"),
        ({"context": {"age": 3}}, '"age": got no feature; expected { range'),
        ({"action": {"x": {"categories": []}}, "cross": None}, r"categories: got \[\] for action.x"),
        ({"action": {"x": {"hash": {"buckets": 0}}}, "cross": None}, "buckets: got 0 for action.x"),
        ({"cross": [("topic", "user.device")]}, '"topic" is no feature of the context'),
        ({"projection": {"dimension": 14, "seed": 1}}, "projection.dimension: got 14"),
        ({"context": None, "action": None, "cross": None}, "expected at least one feature"),
    ]:
        with pytest.raises(reticent.ReticentError, match=message):
            rule(**changes)


def test_newer_keys_in_every_form():
    radio = dict(
        context={"hour": {"cycle": 24, "weight": 0}, "liked": {"categories": ["rock", "jazz"], "weight": 0}},
        action={"genre": {"categories": ["rock", "jazz"]}},
    )
    weight = {"liked==genre": 0.25, "constant": 0.25}
    features = reticent.Features(**radio, cross=[("hour", "genre")], match=[("liked", "genre")], weight=weight)
    assert features.names[-2:] == ["context.liked==action.genre", "constant"] and features.constant == 0.5
    row = features.vector({"hour": 6, "liked": "jazz"}, {"genre": "jazz"})
    assert row[features.names.index("context.liked==action.genre")] == 0.5
    table = {"with": [("hour", "genre")], "match": [("liked", "genre")]}
    assert reticent.Features(**radio, cross=table, weight=weight) == features == copy.deepcopy(features)
    assert reticent.Features.from_json(features.to_json()) == features == pickle.loads(pickle.dumps(features))
    for changes, message in [
        (dict(weight={"action.genre": -1}), "weight: got -1 for action.genre; expected a share"),
        (dict(weight={"action.genre": 0}), "weight: got 0 for every feature; expected a positive share"),
        (dict(weight={"constant": 1.5}), "weight: got 1.5 for constant; expected a share"),
        (dict(context={"hour": {"cycle": 0}}), "cycle: got 0 for context.hour; expected a positive period"),
        (dict(context={"hour": {"bins": [3, 1]}}), r"bins: got \[3.0, 1.0\] for context.hour; expected finite edges"),
        (dict(action={"genre": {"categories": ["rock", "rock"]}}), 'categories: got "rock" twice for action.genre; list every word once'),
        (dict(action={"genre": {"hash": {"buckets": 5000}}}, cross=[("liked", "genre")]), "the widest part, liked\\*genre, has 10000"),
        (dict(match=[("hour", "genre")]), "cross.match: got .*, of a cycle of 24 and 2 categories"),
        (dict(products={"degree": 9}), "products.degree: got 9; expected 2 or 3"),
        (dict(fourier={"count": 4, "scale": 0.0, "seed": 1}), "fourier.scale: got 0; "),
    ]:
        with pytest.raises(reticent.ReticentError, match=message):
            reticent.Features(**{**radio, **changes})


def test_the_two_level_rule_takes_its_levels_from_the_features():
    words = lambda count: {"categories": [str(word) for word in range(count)]}
    table = dict(context={"device": words(3)}, action={"topic": words(4)}, cross=[("device", "topic")], weighting="groups")
    features = reticent.Features(**table)
    assert features.dimension == 4 + 12 + 1 and features.constant == pytest.approx(0.2**0.5)
    assert reticent.Features.from_json(features.to_json()) == features != reticent.Features(**{**table, "weighting": "roots"})
    budget = dict(dimension=features.dimension, epsilon=4.0, delta=1e-6, horizon=1000, rule="two_level")
    actions = [{"topic": str(topic)} for topic in range(4)]
    arms = features.arms({"device": "1"}, actions)
    for bandit in (reticent.JointBandit(**budget, features=features), reticent.LinUCB(features.dimension, rule="two_level", features=features, seed=3)):
        for _ in range(200):
            decision = bandit.decide(arms)
            assert 0.0 < decision.probability <= 1.0
            bandit.observe(decision.ticket, 1.0 if decision.arm == 2 else -1.0)
    # Without privacy 200 rewards are enough.
    assert [bandit.decide(arms).arm for _ in range(20)].count(2) >= 15
    with pytest.raises(reticent.ReticentError, match="expected a table of features"):
        reticent.JointBandit(**budget)
    with pytest.raises(reticent.ReticentError, match="dimension: got 18; the levels have 17 coordinates"):
        reticent.JointBandit(**{**budget, "dimension": 18}, features=features)
    with pytest.raises(reticent.ReticentError, match="weighting"):
        reticent.Features(**{**table, "weighting": "even"})
    with pytest.raises(reticent.ReticentError, match="projection: got a value"):
        narrow = reticent.Features(**table, projection={"dimension": 9, "seed": 1})
        reticent.JointBandit(**{**budget, "dimension": 9}, features=narrow)
