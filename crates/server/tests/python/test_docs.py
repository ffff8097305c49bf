"""The client in JavaScript that docs/service.md prints, as it is printed, but for the address. Tests of the Python package run the other one."""

import re
import subprocess
from pathlib import Path

from optional import program

PAGE = Path(__file__).parents[4] / "docs" / "service.md"


def printed(language, service):
    """The client in this language, with the address of the service."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
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
