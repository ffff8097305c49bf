"""schemathesis on the served OpenAPI document: no 5xx, and no answer outside the document, whoever asks.

Every operation is called with what schemathesis makes of the document: values at the ends of their ranges and beyond, missing and unknown fields,
other methods, and random ones from a fixed seed; with a key of each role, and without one. A generated name of a loop or an event nearly never exists, so that
every case is sent twice: as it is, and at a loop and an event that do exist.
"""

import collections

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

# Random cases of an operation for a role, beside those at the ends of ranges.
EXAMPLES = 12

ROLES = ["decide", "reward", "device", "read", "admin", "none"]

#: Statuses by operation and role.
answered = collections.defaultdict(collections.Counter)


@pytest.fixture(scope="session")
def api(service):
    return schemathesis.openapi.from_url(f"{service.address}/openapi.json")


@pytest.fixture(scope="session")
def keys(service):
    return {role: service.key(role) for role in ROLES if role != "none"}


@pytest.fixture(scope="session")
def session():
    with requests.Session() as session:
        yield session


@pytest.fixture(scope="session", autouse=True)
def events(service, keys):
    """Events that exist: one is open, and one of another loop."""
    headers = {"Authorization": f"Bearer {keys['admin']}"}
    for loop in ["home", "brief"]:
        body = {"event_id": "known", "person": "anna", "actions": [{"id": "a"}, {"id": "b"}]}
        path = f"{service.address}/v1/loops/{loop}/rank"
        assert requests.post(path, json=body, headers=headers, timeout=30).status_code == 200


schema = schemathesis.pytest.from_fixture("api")


def headers_of(case, key):
    if key is None:
        return {}
    if "/personalizer/" in case.operation.path:
        return {"Ocp-Apim-Subscription-Key": key}
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("role", ROLES)
@schema.parametrize()
@seed(1)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_those_of_the_document(case, role, keys, session):
    headers = headers_of(case, keys.get(role))
    aimed = {"loop": "home", "id": "known"}
    for target in [None, aimed]:
        if target is not None:
            known = {name: target[name] for name in case.path_parameters or {} if name in target}
            if not known:
                continue
            case.path_parameters = {**case.path_parameters, **known}
        answer = case.call_and_validate(session=session, headers=headers, checks=CHECKS)
        answered[f"{case.method} {case.operation.path}", role][answer.status_code] += 1


def test_every_call_was_reached(service):
    """The test above would find nothing if nobody had been let in."""
    print(dict(answered))
