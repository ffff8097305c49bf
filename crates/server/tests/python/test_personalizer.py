"""Personalizer's public client, unchanged: only address and key are those of the service."""

import json

import pytest
import requests
from azure.cognitiveservices.personalizer import PersonalizerClient
from azure.cognitiveservices.personalizer.models import (
    ErrorResponseException,
    RankableAction,
    RankRequest,
)
from msrest.authentication import CognitiveServicesCredentials
from msrest.exceptions import HttpOperationError

from service import get, wait_until


@pytest.fixture(scope="module")
def key(service):
    return service.key("decide,reward", loop="brief")


@pytest.fixture(scope="module")
def admin(service):
    return service.key("admin")


@pytest.fixture(scope="module")
def client(service, key):
    return PersonalizerClient(service.address, CognitiveServicesCredentials(key))


def question(event, person="MARK-anna", **more):
    return RankRequest(
        actions=[
            RankableAction(id="a", features=[{"topic": "news"}, {"size": {"width": 27.18281}, "brand": "MARK-brand"}]),
            RankableAction(id="b", features=[{"topic": "sport"}]),
            RankableAction(id="c", features=[{"topic": "news"}]),
        ],
        context_features=[{"device": "phone"}, {"user": {"id": person, "age": 31}}],
        event_id=event,
        **more,
    )


def decisions(service, admin):
    """The events that were learnt from: all decisions with their rewards."""
    text = get(service.address, admin, "/v1/loops/brief/events/export").text
    return [json.loads(line) for line in text.splitlines()]


def open_events(service, admin):
    loops = get(service.address, admin, "/v1/loops").json()["loops"]
    return next(loop["open_events"] for loop in loops if loop["name"] == "brief")


def test_rank_is_201_with_every_action_once(client):
    raw = client.rank(question("MARK-ranked", excluded_actions=["c", "unknown"]), raw=True)
    assert raw.response.status_code == 201
    answer = raw.output
    assert answer.event_id == "MARK-ranked"
    assert sorted(action.id for action in answer.ranking) == ["a", "b", "c"]
    assert answer.ranking[0].id == answer.reward_action_id != "c"
    probabilities = {action.id: action.probability for action in answer.ranking}
    assert probabilities["c"] == 0
    assert sum(probabilities.values()) == pytest.approx(1)
    # The same question again has the same answer.
    again = client.rank(question("MARK-ranked", excluded_actions=["c", "unknown"]))
    assert again.reward_action_id == answer.reward_action_id


def test_an_event_without_an_id_gets_one(client):
    events = {client.rank(question(None)).event_id for _ in range(5)}
    assert len(events) == 5 and all(events)


def test_rewards_and_activations_count_until_the_window_ends(service, client, admin):
    for event in ["MARK-rewarded", "MARK-unrewarded"]:
        client.rank(question(event))
    for event in ["MARK-shown", "MARK-hidden"]:
        client.rank(question(event, defer_activation=True))
        client.events.reward(event, 0.75)
    assert client.events.reward("MARK-rewarded", 0.5, raw=True).response.status_code == 204
    assert client.events.activate("MARK-shown", raw=True).response.status_code == 204
    wait_until(lambda: open_events(service, admin) == 0)
    before = decisions(service, admin)
    found = sorted(decision["reward"] for decision in before if decision["reward"] > 0)
    # Deferred and never activated: nothing is learnt from it.
    assert found == [0.5, 0.75]
    # Late and unknown ones have the same status and change nothing.
    for event in ["MARK-rewarded", "MARK-unrewarded", "MARK-hidden", "MARK-never asked for"]:
        assert client.events.reward(event, 1.0, raw=True).response.status_code == 204
        assert client.events.activate(event, raw=True).response.status_code == 204
    assert decisions(service, admin) == before


def test_the_person_is_no_feature(service, client, admin):
    client.rank(question("MARK-personal", person="MARK-person"))
    text = get(service.address, admin, "/v1/loops/brief/events/export").text
    assert '"age":31' in text and "MARK-person" not in text


def test_errors_are_read_by_the_client(service, client):
    client.rank(question("MARK-taken"))
    with pytest.raises(ErrorResponseException) as refused:
        client.rank(question("MARK-taken", person="MARK-berta"))
    assert refused.value.response.status_code == 400
    assert refused.value.error.error.code == "BadRequest"
    with pytest.raises(ErrorResponseException) as refused:
        client.rank(RankRequest(actions=[], event_id="MARK-empty"))
    assert refused.value.error.error.code == "BadRequest"
    assert "actions" in refused.value.error.error.message
    stranger = PersonalizerClient(service.address, CognitiveServicesCredentials("rt_0_0"))
    with pytest.raises(ErrorResponseException) as refused:
        stranger.rank(question("MARK-stranger"))
    assert refused.value.response.status_code == 401
    with pytest.raises(HttpOperationError) as refused:
        stranger.events.reward("MARK-taken", 1.0)
    assert refused.value.response.status_code == 401
    read = PersonalizerClient(
        service.address, CognitiveServicesCredentials(service.key("read", loop="brief"))
    )
    with pytest.raises(ErrorResponseException) as refused:
        read.rank(question("MARK-reader"))
    assert refused.value.response.status_code == 403


def test_the_newer_addresses_with_a_version(service, key, admin):
    """As newer clients call them: the version stands behind the question mark."""

    def post(path, body=None):
        return requests.post(
            f"{service.address}/personalizer/{path}",
            params={"api-version": "2022-09-01-preview"},
            headers={"Ocp-Apim-Subscription-Key": key},
            json=body,
            timeout=30,
        )

    body = {
        "contextFeatures": [{"device": "computer"}, {"user": {"id": "MARK-carla"}}],
        "actions": [{"id": "a", "features": [{"topic": "news"}]}, {"id": "b", "features": []}],
        "excludedActions": ["b"],
        "eventId": "MARK-newer",
        "deferActivation": True,
    }
    ranked = post("rank", body)
    assert ranked.status_code == 201
    answer = ranked.json()
    assert answer["eventId"] == "MARK-newer" and answer["rewardActionId"] == "a"
    assert answer["ranking"] == [{"id": "a", "probability": 1.0}, {"id": "b", "probability": 0.0}]
    assert post("events/MARK-newer/reward", {"value": 0.8172635}).status_code == 204
    assert post("events/MARK-newer/activate").status_code == 204
    wait_until(lambda: open_events(service, admin) == 0)
    before = decisions(service, admin)
    # Rewards are kept in units of 2^-32.
    assert [decision["reward"] for decision in before].count(pytest.approx(0.8172635, abs=1e-9)) == 1
    assert post("events/MARK-newer/reward", {"value": 1}).status_code == 204
    assert decisions(service, admin) == before
    refused = post("rank", {"actions": "none"})
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "BadRequest"
    assert service.process.poll() is None
