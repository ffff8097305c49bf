"""The shards of a sweep on a cluster.

Shard i of n is every n-th trial beginning with number i, as `reticent run --shard` takes it. A worker gets the experiment's text and the
finished trials of its shard, computes the rest, and sends all of them back: it needs no access to the caller's disk. They
are stored beside the results, under the hash of what determines them, so an interrupted sweep continues where it stopped, and
the merged folder has the same bytes as a local run, except for times. If a worker dies, the cluster gives its
shard to another one.
"""

import pathlib
import tempfile

from .. import _core

RETRIES = 3


def _work(text, overrides, index, of, keep_going, known, base):
    """One shard, on a worker: the files of its folder."""
    with tempfile.TemporaryDirectory(prefix="reticent-shard-") as folder:
        folder = pathlib.Path(folder)
        for name, content in known.items():
            (folder / name).write_bytes(content)
        outcome = _core.run(text, folder, overrides, (index, of), keep_going, base=base)
        files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    return index, outcome, files


def _dask(jobs, client):
    import distributed

    own = client is None
    client = distributed.Client() if own else client
    try:
        futures = [client.submit(_work, *job, retries=RETRIES, pure=False) for job in jobs]
        for future in distributed.as_completed(futures):
            yield future.result()
    finally:
        if own:
            client.close()


def _ray(jobs, address):
    import ray

    own = not ray.is_initialized()
    if own:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        work = ray.remote(max_retries=RETRIES)(_work)
        waiting = [work.remote(*job) for job in jobs]
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            yield ray.get(done[0])
    finally:
        if own:
            ray.shutdown()


ENGINES = {"dask": _dask, "ray": _ray}


def run(engine, text, folder, overrides, shards, client, keep_going, tell, base=None):
    """Distributes the shards, stores the trials that come back, and merges them in `folder`."""
    if engine not in ENGINES:
        raise _core.ReticentError(f'engine: got {engine!r}; expected "local", "ray" or "dask"')
    shards = 8 if shards is None else shards
    if shards < 1:
        raise _core.ReticentError(f"shards: got {shards}; expected a whole number above 0")
    parts = [pathlib.Path(folder) / "shards" / f"{index}-of-{shards}" for index in range(shards)]
    jobs = []
    for index, part in enumerate(parts):
        log = part / "trials.log"
        known = {"trials.log": log.read_bytes()} if log.exists() else {}
        jobs.append((text, overrides, index, shards, keep_going, known, base))
    total = {"computed": 0, "resumed": 0, "damaged": 0, "failures": []}
    try:
        for done, (index, outcome, files) in enumerate(ENGINES[engine](jobs, client)):
            parts[index].mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                (parts[index] / name).write_bytes(content)
            for key in total:
                total[key] += outcome[key]
            if tell is not None:
                tell(done + 1, shards)
    except ImportError as error:
        raise _core.ReticentError(f'engine: got {engine!r}; {error}; pip install "reticent[{engine}]"') from error
    _core.merge(parts, pathlib.Path(folder))
    return total
