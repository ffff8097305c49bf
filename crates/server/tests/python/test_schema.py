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

from conformance import CHECKS

# Random cases of an operation for a role, beside those at the ends of ranges.
EXAMPLES = 12

ROLES = ["decide", "reward", "device", "read", "admin", "none"]

# Only a device makes a report, and only a shuffler a batch: what is generated is refused for what it is.
MADE = {"POST /v1/loops/{loop}/reports", "POST /v1/loops/{loop}/batches"}


def known_loop(path):
    """A loop that exists and has this call: those of devices and of shufflers are for loops of theirs."""
    if path.endswith(("/sealing", "/batches")):
        return "mixed"
    return "phones" if path.endswith(("/protocol", "/reports", "/reports/batch")) else "home"


#: Roles and statuses by operation.
answered = collections.defaultdict(collections.Counter)


@pytest.fixture(scope="session")
def api(service):
    return schemathesis.openapi.from_url(f"{service.address}/openapi.json")


@pytest.fixture(scope="session")
def keys(service):
    return {role: service.key(role, "phones" if role == "device" else "home") for role in ROLES if role != "none"}


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


@schema.parametrize()
@seed(1)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_those_of_the_document(case, keys, session):
    operation = f"{case.operation.method.upper()} {case.operation.path}"

    def call(role):
        headers = headers_of(case, keys.get(role))
        answer = case.call_and_validate(session=session, headers=headers, checks=CHECKS)
        answered[operation][role, answer.status_code] += 1

    def is_stranger(role):
        """Skips a role that was refused several times and never let in: a refusal does not look at what was sent."""
        statuses = {status for asked, status in answered[operation] if asked == role}
        return statuses <= {401, 403, 405} and sum(answered[operation][role, status] for status in statuses) > 10

    call("admin")
    known = {"loop": known_loop(case.operation.path), "id": "known"}
    given = case.path_parameters or {}
    case.path_parameters = {**given, **{name: known[name] for name in given if name in known}}
    for role in ROLES:
        if not is_stranger(role):
            call(role)


def test_everybody_was_let_in_and_refused(api):
    """The test above would find nothing if every call had been refused."""
    for operation, counts in answered.items():
        let_in = (lambda status: status in (400, 422)) if operation in MADE else (lambda status: status < 300)
        assert any(let_in(status) for _, status in counts), (operation, counts)
    operations = {f"{item.ok().method.upper()} {item.ok().path}" for item in api.get_all_operations()}
    assert operations <= set(answered), operations - set(answered)
    statuses = {role: {status for counts in answered.values() for asked, status in counts if asked == role} for role in ROLES}
    for role in ["decide", "reward", "device", "read"]:
        assert {200, 403} <= statuses[role], (role, statuses[role])
    assert {200, 204, 404, 422} <= statuses["admin"]
    assert {200, 401} <= statuses["none"]
