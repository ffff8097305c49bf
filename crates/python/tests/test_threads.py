"""Batch calls let other threads run."""

import pickle
import threading
import time

import numpy
import pytest
import reticent

ARMS = reticent.Arms(numpy.eye(8))
PEOPLE = 200_000


def test_two_learners_in_two_threads_run_in_parallel():
    """Each thread makes one long call. While neither has returned, the processor time of both grows, so neither waits for the other.

    If a call kept the interpreter's lock, the second would not get any until the first was done.
    """
    inside, done, clocks = [], [], {}

    def work(number):
        learner = reticent.LinUCB(8)
        clocks[number] = time.pthread_getcpuclockid(threading.get_ident())
        inside.append(number)
        learner.decide_many(ARMS, people=PEOPLE)
        done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    while len(inside) < 2:
        time.sleep(0)
    start = [time.clock_gettime(clocks[number]) for number in range(2)]
    grown = [0.0, 0.0]
    while min(grown) < 0.01 and not done:
        grown = [time.clock_gettime(clocks[number]) - start[number] for number in range(2)]
    together = not done
    for thread in threads:
        thread.join()
    assert together, grown


def test_a_counter_counts_while_a_call_runs():
    learner, counted = reticent.JointBandit(8, 1.0, 1e-6), []
    finished = threading.Event()

    def work():
        tickets, _ = learner.decide_many(ARMS, people=100_000)
        learner.observe_many(tickets, numpy.full(100_000, 0.5))
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not finished.is_set():
        counted.append(1)
    thread.join()
    # If the calls kept the lock, the counter would advance only a few times between calls.
    assert len(counted) > 10_000 and learner.rounds == 100_000


def test_one_learner_in_two_threads_is_refused_and_not_torn():
    learner, errors = reticent.LinUCB(8), []
    started = threading.Event()

    def work():
        started.set()
        learner.decide_many(ARMS, people=PEOPLE)

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    while thread.is_alive():
        try:
            learner.decide(ARMS)
            pickle.dumps(learner)
        except RuntimeError as error:
            errors.append(error)
    thread.join()
    assert errors and "borrowed" in str(errors[0])
    assert learner.open_decisions >= PEOPLE


@pytest.mark.parametrize("count", [4])
def test_many_threads_with_a_learner_each(count):
    thetas = {}

    def work(number):
        learner = reticent.LinUCB(8)
        for _ in range(200):
            ticket, arm = learner.decide(ARMS)
            learner.observe(ticket, 1.0 if arm == number else 0.0)
        thetas[number] = learner.theta

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(numpy.argmax(thetas[number])) for number in range(count)] == list(range(count))
