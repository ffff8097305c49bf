"""The commit in results: that of the repository that the package is built from, and nothing where that is not known."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest
from reticent import lab

ROOT = pathlib.Path(__file__).parents[3]

EXPERIMENT = """
name = "the commit of results"
rounds = 40
trials = 2
environment = { kind = "sphere", dimension = 2, arms = 3 }
[[algorithm]]
kind = "linucb"
"""


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_results_state_the_commit_that_the_package_is_built_from(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("the sources are in no repository")
    lab.run(EXPERIMENT, folder=tmp_path / "out")
    read = lambda name: (tmp_path / "out" / name).read_text(encoding="utf-8")
    summary = json.loads(read("summary.json"))
    assert summary.get("commit"), "the package was built where git tells no commit"
    assert re.fullmatch("[0-9a-f]{12}(, changed)?", summary["commit"]), summary["commit"]
    digits = summary["commit"][:12]
    assert git(ROOT, "cat-file", "-t", digits) == "commit"
    assert re.search(rf"<footer>reticent [0-9.]+, commit {summary['commit']}</footer>", read("report.html"))
    assert digits in read("figures/regret.svg")


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The build script as a program that is run in the folder of a crate."""
    if not shutil.which("rustc"):
        pytest.skip("there is no rustc")
    program = tmp_path_factory.mktemp("script") / "script"
    subprocess.run(["rustc", "--edition=2024", "-o", program, ROOT / "crates/cli/build.rs"], check=True)

    def stated(crate):
        lines = subprocess.run([program], cwd=crate, check=True, capture_output=True, text=True).stdout.splitlines()
        return [line.split("=", 2)[2] for line in lines if line.startswith("cargo:rustc-env=RETICENT_COMMIT=")]

    return stated


def test_a_commit_is_stated_only_of_the_package_s_own_repository(script, tmp_path):
    crate = tmp_path / "crates/python"
    for folder in ["src", "python/reticent"]:
        (crate / folder).mkdir(parents=True)
    for file in ["Cargo.toml", "src/lib.rs", "python/reticent/__init__.py"]:
        (crate / file).write_text("1\n")
    assert script(crate) == [], "no repository"
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    assert script(crate) == [], "a repository that does not have the package"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "second")
    commit = git(tmp_path, "rev-parse", "HEAD")[:12]
    assert script(crate) == [commit]
    # The modules in Python are a part of the package, and those of the service are not.
    (tmp_path / "crates/server/src").mkdir(parents=True)
    (tmp_path / "crates/server/src/lib.rs").write_text("1\n")
    git(tmp_path, "add", ".")
    assert script(crate) == [commit]
    (crate / "python/reticent/__init__.py").write_text("2\n")
    assert script(crate) == [f"{commit}, changed"]
    # Unpacked in a repository of another project.
    elsewhere = tmp_path / "vendor/crates/python"
    shutil.copytree(crate, elsewhere)
    git(tmp_path, "add", ".")
    assert script(elsewhere) == []
