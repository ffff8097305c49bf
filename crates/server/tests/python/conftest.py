"""Other people's clients against a real process. Run by `cargo xtask clients` and `cargo xtask test`."""

import pytest

from service import Service

# Words that the tests send as persons, event ids, features, rewards and keys: nothing of it may be logged.
SECRETS = ["MARK", "27.18281", "8172635", "rt_"]


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """One process for all tests. It must stop as it should, and its log at the lowest level must hold no person's data."""
    # The path of a control socket has at most 107 bytes, so the folder is short.
    running = Service(tmp_path_factory.mktemp("s"))
    try:
        yield running
    finally:
        status = running.stop()
    assert status == 0, running.log
    # The log is there: an empty one would hold nothing.
    assert any('"request"' in line and '"status":200' in line for line in running.log)
    for secret in SECRETS:
        found = [line for line in running.log if secret in line]
        assert found == [], f"{secret} is logged"
