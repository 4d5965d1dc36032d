"""Processes that race for a budget, and processes that are killed."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack

import pytest

import ledger_worker
from tabpe.accounting.ledger import Ledger

RACES, RACERS = 25, 3
KILLS, FILES = 60, 5
LONGEST_PAUSE = 0.03


@pytest.fixture
def start():
    """Start workers that end with the test."""
    with ExitStack() as stack:

        def start(mode):
            command = [sys.executable, ledger_worker.__file__, mode]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
            stack.enter_context(process)
            stack.callback(process.stdin.close)
            return process

        yield start


@pytest.fixture
def race(start):
    """Let several processes reserve at once, and return how many won."""
    racers = [start("race") for _ in range(RACERS)]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * RACERS

    def race(path):
        for racer in racers:
            racer.stdin.write(f"{path}\n")
        return [racer.stdout.readline() for racer in racers].count("won\n")

    return race


@pytest.fixture
def killed(start):
    """Let a process work, kill it after some lines and a pause, and return all that it told."""
    nursery = start("nursery")
    assert nursery.stdout.readline() == "ready\n"

    def killed(path, lines, pause):
        nursery.stdin.write(f"{path}\n")
        _, child = nursery.stdout.readline().split()
        told = [nursery.stdout.readline() for _ in range(lines)]
        time.sleep(pause)
        os.kill(int(child), signal.SIGKILL)
        told += itertools.takewhile(lambda line: line != "gone\n", nursery.stdout)
        return [line.split() for line in told]

    return killed


def test_of_processes_that_race_for_the_last_budget_exactly_one_wins(tmp_path, race):
    for number in range(RACES):
        ledger = Ledger(tmp_path / f"{number}.db")
        # Enough for one such run, and not for two.
        ledger.set_budget("patients", epsilon=1.2, delta=1e-6)
        assert race(ledger.path) == 1
        assert len(ledger.entries()) == 1
        assert ledger.verify() == []


def test_processes_that_race_to_make_a_ledger_all_find_room_in_it(tmp_path, race):
    for number in range(RACES):
        ledger = Ledger(tmp_path / f"{number}.db")
        assert race(ledger.path) == RACERS
        assert len(ledger.entries()) == RACERS
        assert ledger.verify() == []


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_whenever_a_process_is_killed_nothing_that_it_was_told_is_missing(tmp_path, killed):
    moments = random.Random(0)
    seen = Counter()
    for file in range(FILES):  # whose first event may be cut short too
        ledger, told = Ledger(tmp_path / f"{file}.db"), {}
        for kill in range(KILLS // FILES):
            for word, entry in killed(
                ledger.path, moments.randrange(6), moments.uniform(0, LONGEST_PAUSE)
            ):
                told.setdefault(entry, set()).add(word)
                seen[word] += 1
            assert ledger.verify() == []
            check_told(told, {entry.id: entry for entry in ledger.entries()}, kill + 1)
    assert min(seen[word] for word in ("reserved", "spent", "refunded")) > 10


def check_told(told, entries, kills):
    for entry, words in told.items():
        closed = words & {"spent", "refunded"}
        assert not closed or {entries[entry].state} == closed
        assert "spent" not in words or len(entries[entry].spends) == 2
    # One a kill may have been on the disk before its process could say so.
    assert told.keys() <= entries.keys()
    assert len(entries) - len(told) <= kills
