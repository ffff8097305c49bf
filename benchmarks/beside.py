"""The service beside Vowpal Wabbit's daemon and a plain bandit in Redis: ranks and rewards a second, by one client, on this machine.

    cargo build --release
    python3 benchmarks/beside.py --set-up       # redis-server with apt-get (as root), VW's daemon with pip in target/beside; then it measures

Without `--set-up` nothing is installed; missing systems are left out and named. The client needs Python's standard library only.

Every system gets the same rank requests, those of the loop in `examples/loops.toml` with 20 actions, and one reward for each:

    Reticent    HTTP and JSON. A linear model of 14 coordinates; event, person and reward are on disk before the answer.
    VW          its own line protocol. `--cb_explore_adf -q ca --epsilon 0.1`, a child for each connection; the caller draws the action, keeps the request
                and sends it again with the reward. The daemon of PyPI's package: `vw --daemon` in Python's process.
    Redis       RESP. An epsilon-greedy bandit as one Lua script: counts and sums for each device and action, no features; the event is a key until
                its reward or for 30 minutes. Append-only file, synced always or every second.

As many connections for each, kept open, one request under way on each. Requests are made before the clock starts. Rounds alternate between the systems; a ratio
is that of one round, so that what else the machine does falls on both sides; medians, and the smallest and largest in brackets. Client and server share the
processors: both are printed, as microseconds of a processor a request. At the end each is killed with -9, started again and asked for what it acknowledged.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys

from beside_client import measure
from beside_systems import ALL, SETUP, Reticent, VowpalWabbit, rank_request


def play(system, generator, number, arguments):
    """One round: all ranks, then the reward of each."""
    asked = [rank_request(generator) for _ in range(arguments.requests)]
    events = [f"visit-{number}-{index}" for index in range(arguments.requests)]
    ranks = [system.rank(event, each, generator.random()) for event, each in zip(events, asked)]
    answers, *rank = measure(system, ranks, arguments.clients, arguments.processes)
    rewards = [system.reward(event, each, answer, int(generator.random() < 0.3), generator.random()) for event, each, answer in zip(events, asked, answers)]
    _, *reward = measure(system, rewards, arguments.clients, arguments.processes)
    return {"rank": rank, "reward": reward}


def spread(values, form):
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} to {form.format(max(values))})"


def tables(systems, rounds, kept):
    """Tables of the measurements, and of each system's work and kept events."""

    def column(system, kind, position):
        return [each[kind][position] for each in rounds[system.head]]

    yield "| | ranks a second | beside Reticent | rewards a second | beside Reticent | server's processor, a rank / a reward | client's |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for system in systems:
        cells = [system.head]
        for kind in ("rank", "reward"):
            rates = column(system, kind, 0)
            ratios = [rate / own for rate, own in zip(rates, column(systems[0], kind, 0))]
            cells += [f"{round(statistics.median(rates), -2):,.0f}", spread(ratios, "x {:.2f}") if system is not systems[0] else "1"]
        for position in (1, 2):
            cells.append(" / ".join(f"{statistics.median(column(system, kind, position)):.0f} us" for kind in ("rank", "reward")))
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield "| | learns | durable | kept after kill -9 | known of a person afterwards |"
    yield "| --- | --- | --- | --- | --- |"
    for system in systems:
        yield f"| {system.head} | {system.learns} | {system.durable} | {100 * kept[system.head]:.0f} % | {system.known} |"


def set_up():
    if not shutil.which("redis-server"):
        # The package would start a service of its own otherwise.
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        for command in (["update"], ["install", "--no-install-recommends", "redis-server"]):
            subprocess.run(["apt-get", "-qq", "-y", *command], env=environment, stdout=sys.stderr, check=False)
    if VowpalWabbit.missing():
        subprocess.run([sys.executable, "-m", "venv", SETUP], check=True)
        subprocess.run([SETUP / "bin" / "pip", "install", "-q", "vowpalwabbit"], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set-up", action="store_true", help="install missing systems first")
    parser.add_argument("--requests", type=int, default=20_000, help="ranks, and rewards, of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=64, help="connections at the same time")
    parser.add_argument("--processes", type=int, default=2, help="of the client")
    arguments = parser.parse_args()
    if arguments.set_up:
        set_up()
    folder = SETUP.parent / f"beside.{os.getpid()}"
    systems, rounds, kept = [], {}, {}
    try:
        for kind in ALL:
            if remedy := kind.missing():
                print(f"{kind.head} is left out: {remedy}", file=sys.stderr)
                if kind is Reticent:
                    raise SystemExit(1)
                continue
            system = kind(folder / kind.__name__, arguments.clients)
            systems.append(system)
            rounds[system.head] = []
            system.start()
            system.prepare()
        generator = random.Random(7)
        for number in range(arguments.rounds):
            # The order changes, so that no system is always first.
            for system in systems if number % 2 == 0 else systems[::-1]:
                rounds[system.head].append(play(system, generator, number, arguments))
                print(f"round {number + 1}: {system.head}", file=sys.stderr)
        for system in systems:
            ranks = arguments.rounds * arguments.requests
            if system.kept(ranks) != 1.0:
                raise SystemExit(f"{system.head} has {system.kept(ranks)} of its events before it is killed")
            system.kill()
            system.start()
            kept[system.head] = system.kept(ranks)
        print("\n".join(tables(systems, rounds, kept)))
        print(f"\n{arguments.clients} connections from {arguments.processes} processes, {arguments.rounds} rounds of {arguments.requests:,} ranks and rewards, {os.cpu_count()} processors.")
    finally:
        for system in systems:
            system.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
