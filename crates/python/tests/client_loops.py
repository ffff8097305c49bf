"""Loops, keys and a running service of the tests of `reticent.Client`, alone and with devices."""

import pytest

from service import Service

LOOPS = """
[loop.home]
privacy = { epsilon = 1.0, delta = 1e-6, visits = 100, per = "30 days" }
learner = { tick = "200 ms", forget = "1 hour" }
reward = { range = [0, 1], window = "3 seconds", combine = "sum" }
retain = "1 day"
[loop.home.context]
age = { range = [18, 80] }
[loop.home.action]
topic = { categories = ["news", "sport"] }

[loop.direct]
trust = "device"
privacy = { epsilon = 8.0, delta = 1e-6, visits = 3, per = "ever" }
device = { levels = [4.0, 8.0] }
learner = { tick = "100 ms" }
[loop.direct.context]
age = { range = [18, 80] }
[loop.direct.action]
topic = { categories = ["news", "sport"] }

[loop.mixed]
trust = "shuffler"
privacy = { epsilon = 4.0, delta = 1e-3, visits = 1, per = "ever" }
learner = { tick = "100 ms" }
shuffle = { batch = 8, cap = 8 }
[loop.mixed.action]
topic = { categories = ["news", "sport"] }

[loop.summed]
trust = "shuffler"
privacy = { epsilon = 4.0, delta = 1e-3, visits = 4, per = "ever" }
learner = { tick = "100 ms" }
shuffle = { batch = 8, cap = 8, mode = "sum" }
[loop.summed.action]
topic = { categories = ["news", "sport"] }
"""
ACTIONS = [{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}]
TOPICS = [{"topic": "news"}, {"topic": "sport"}]
# Data that must not leave a device or be shown in an error.
MARK = "MARK-8172635"
# A public key that every implementation takes.
BASE_POINT = "09" + 31 * "00"
# An address without a listener: port 9 is kept free of services.
AWAY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("s"), LOOPS)
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def keys(service):
    return {loop: service.key("decide,reward" if loop == "home" else "device", loop) for loop in ("home", "direct", "mixed", "summed")}


@pytest.fixture(scope="module")
def admin(service):
    return service.key("admin")
