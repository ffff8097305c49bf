"""Sweeps on a local cluster of two workers, one of which is killed in the middle."""

import json
import os
import signal
import threading
import time

import optional
import pytest
from reticent import lab

# A second or two of work, in eight shards of two trials.
SWEEP = """
name = "a sweep"
rounds = 50_000
trials = 8
seed = 11

[environment]
kind = "gap"
dimension = 12
arms = 60

[[algorithm]]
kind = "linucb"

[[algorithm]]
kind = "joint"
privacy = { epsilon = 1.0, delta = 1e-6 }
"""


def without_times(folder):
    summary = json.loads((folder / "summary.json").read_text())
    for algorithm in summary["algorithms"]:
        del algorithm["nanoseconds_per_round"]
    return summary


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    lab.run(SWEEP, folder)
    return folder


def check(folder, local):
    assert (folder / "results.csv").read_bytes() == (local / "results.csv").read_bytes()
    assert without_times(folder) == without_times(local)


def run_and_kill(folder, engine, client, running):
    """Runs the sweep; meanwhile kills the first busy worker process that `running` finds. Returns its process id."""
    outcome, killed = {}, []

    def sweep():
        try:
            outcome["results"] = lab.run(SWEEP, folder, engine=engine, client=client, shards=8)
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=sweep)
    thread.start()
    while thread.is_alive() and not killed:
        for process in running():
            # Busy for long enough to be in the middle of a shard.
            time.sleep(0.1)
            if process in running():
                os.kill(process, signal.SIGKILL)
                killed.append(process)
                break
        time.sleep(0.01)
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    assert killed, "no worker was caught at work"
    return outcome["results"]


@pytest.mark.filterwarnings("ignore")
def test_dask(tmp_path, local):
    distributed = optional.package("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        processes = client.run(os.getpid)

        def running():
            return [processes[worker] for worker, tasks in client.processing().items() if tasks and worker in processes]

        results = run_and_kill(tmp_path, "dask", client, running)
        assert results.outcome["computed"] == 16
        check(tmp_path, local)
        # Finished trials are reused, whichever engine computed them.
        again = lab.run(SWEEP, tmp_path, engine="dask", client=client, shards=8)
        assert (again.outcome["computed"], again.outcome["resumed"]) == (0, 16)


@pytest.mark.filterwarnings("ignore")
def test_ray(tmp_path, local):
    ray = optional.package("ray")
    psutil = optional.package("psutil")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:

        def running():
            found = []
            for process in psutil.process_iter(["cmdline"]):
                line = process.info["cmdline"] or [""]
                if line[0].startswith("ray::_work"):
                    found.append(process.pid)
            return found

        results = run_and_kill(tmp_path, "ray", None, running)
        assert results.outcome["computed"] == 16
        check(tmp_path, local)
        again = lab.run(SWEEP, tmp_path, engine="ray", shards=8)
        assert (again.outcome["computed"], again.outcome["resumed"]) == (0, 16)
    finally:
        ray.shutdown()


def test_a_shard_that_came_back_is_not_computed_again(tmp_path, local):
    """A sweep that died after some of its shards: the cluster gets only the rest."""
    distributed = optional.package("distributed")
    for index in range(3):
        lab.run(SWEEP, tmp_path / "shards" / f"{index}-of-8", shard=(index, 8))
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        results = lab.run(SWEEP, tmp_path, engine="dask", client=client, shards=8)
    assert (results.outcome["computed"], results.outcome["resumed"]) == (10, 6)
    check(tmp_path, local)
