"""The client of `beside.py`: requests over many connections to a port of this machine, bounded in number and time."""

import contextlib
import multiprocessing
import resource
import select
import socket
import time

# A measurement ends after this many seconds, with or without requests left.
SECONDS = 60


def drive(port, requests, is_whole, connections, start=None):
    """Sends all requests, one at a time on each connection: replies, seconds, and the client's own seconds of a processor."""
    sockets = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(min(connections, len(requests)))]
    epoll, waiting, replies = select.epoll(), {}, [None] * len(requests)
    if start:
        start.wait()
    before, used = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    for number, each in enumerate(sockets):
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        each.sendall(requests[number])
        epoll.register(each.fileno(), select.EPOLLIN)
        waiting[each.fileno()] = [each, number, b""]
    following, left = len(sockets), len(requests)
    while left:
        ready = epoll.poll(1.0)
        if time.monotonic() - before > SECONDS:
            raise SystemExit(f"{left} requests are left after {SECONDS} seconds")
        for descriptor, _ in ready:
            entry = waiting[descriptor]
            part = entry[0].recv(65536)
            if not part:
                raise SystemExit(f"the server closed a connection after {entry[2][:200]!r}")
            entry[2] += part
            if is_whole(entry[2]):
                replies[entry[1]], entry[2] = entry[2], b""
                left -= 1
                if following < len(requests):
                    entry[1], following = following, following + 1
                    entry[0].sendall(requests[entry[1]])
    seconds, now = time.monotonic() - before, resource.getrusage(resource.RUSAGE_SELF)
    for each in sockets:
        each.close()
    return replies, seconds, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def share(number, port, requests, system, connections, start, results):
    results.put((number, drive(port, requests, system.is_whole, connections, start)))


def measure(system, requests, clients, processes):
    """Replies, requests a second, and microseconds of a processor a request, of the server and of the client."""
    context = multiprocessing.get_context("fork")
    start, results = context.Barrier(processes), context.Queue()
    parts = [requests[number::processes] for number in range(processes)]
    workers = [context.Process(target=share, args=(number, system.port, part, system, clients // processes, start, results)) for number, part in enumerate(parts)]
    used = system.processor_seconds()
    for worker in workers:
        worker.start()
    found = {}
    while len(found) < processes:
        with contextlib.suppress(Exception):
            number, result = results.get(timeout=1)
            found[number] = result
        if any(worker.exitcode for worker in workers):
            raise SystemExit(f"{system.head}: a client ended with an error")
    for worker in workers:
        worker.join()
    replies = [None] * len(requests)
    for number, (part, _, _) in found.items():
        replies[number::processes] = part
    bad = [reply for reply in replies if not system.is_good(reply)]
    if bad:
        raise SystemExit(f"{system.head}: {len(bad)} of {len(replies)} were refused, such as {bad[0][:300]!r}")
    seconds = max(each for _, each, _ in found.values())
    micro = 1e6 / len(requests)
    return replies, len(requests) / seconds, (system.processor_seconds() - used) * micro, sum(each for _, _, each in found.values()) * micro
