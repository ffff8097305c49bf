"""Licences and sources of all packages that a build uses, by the rules of `deny.toml`.

`cargo deny` has the same rules. It takes minutes to build, so that CI reads them here; licence expressions are evaluated by the package `license-expression`.
"""

import json
import pathlib
import subprocess
import tomllib

import pytest
from license_expression import ExpressionError, get_spdx_licensing

ROOT = pathlib.Path(__file__).parent.parent
RULES = tomllib.loads((ROOT / "deny.toml").read_text())
ALLOWED = set(RULES["licenses"]["allow"])
LICENSING = get_spdx_licensing()


def is_allowed(expression):
    """True if a licence expression can be met by allowed licences alone. A slash between licences is an old form of OR."""
    try:
        parsed = LICENSING.parse(expression.replace("/", " OR "), validate=True)
    except ExpressionError:
        return False
    return holds(parsed)


def holds(node):
    name = type(node).__name__
    if name in ("OR", "AND"):
        return (any if name == "OR" else all)(map(holds, node.args))
    return str(node) in ALLOWED


def locked():
    return tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]


@pytest.fixture(scope="session")
def used():
    """Packages of a build for this platform, as cargo resolves them."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["packages"]


def test_licences_are_allowed(used):
    assert len(used) > 100
    refused = {p["name"]: p["license"] for p in used if not is_allowed(p["license"] or "")}
    assert refused == {}


def test_sources_are_the_registry_with_a_checksum_or_this_repository():
    others = [package for package in locked() if "source" in package]
    assert len(others) > 100
    for package in others:
        assert package["source"].startswith("registry+"), package
        assert len(package["checksum"]) == 64, package
    own = {package["name"] for package in locked() if "source" not in package}
    assert all(name == "xtask" or name.startswith("reticent") for name in own), own


def test_refused_packages_are_not_locked():
    names = {package["name"] for package in locked()}
    assert names.isdisjoint(RULES["bans"]["deny"])


@pytest.mark.parametrize(
    "expression, allowed",
    [
        ("MIT OR Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("an unknown licence", False),
        ("", False),
    ],
)
def test_expressions_are_evaluated(expression, allowed):
    assert is_allowed(expression) is allowed
