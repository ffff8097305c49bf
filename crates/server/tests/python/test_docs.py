"""Clients that pages print, as they are printed, but for the address: that of docs/reference/service.md in JavaScript, and Personalizer's. Tests of the Python package run the
other one."""

import re
import subprocess
from pathlib import Path

from optional import program

DOCS = Path(__file__).parents[4] / "docs"


def printed(language, service, page="reference/service.md"):
    """The client in this language, with the address of the service."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert len(blocks) == 1
    assert "http://127.0.0.1:8080" in blocks[0]
    return blocks[0].replace("http://127.0.0.1:8080", service.address)


def test_the_javascript_client_ranks_and_rewards(service, tmp_path):
    node = program("node")
    client = tmp_path / "client.mjs"
    key = service.key("decide,reward")
    client.write_text(f'const KEY = "{key}";\n{printed("javascript", service)}\nconsole.log(answer.action, Boolean(head));')
    done = subprocess.run([node, client], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == ["true"]


def test_the_client_of_personalizer_ranks(service):
    names = {"KEY": service.key("decide,reward", loop="brief")}
    exec(printed("python", service, "guides/from-personalizer.md"), names)
    actions = [{"id": "a", "features": [{"topic": "news"}]}, {"id": "b", "features": [{"topic": "sport"}]}]
    answer = names["client"].rank({"actions": actions, "contextFeatures": [{"device": "phone"}]})
    assert answer.reward_action_id in ("a", "b")
