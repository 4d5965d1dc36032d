"""Questions to a database that Ctrl-C ends, however long the database takes.

While a driver waits for its database, Python hears no signal. So the driver waits on a thread of
its own, and the one that hears signals tells the database to stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
# How many seconds a database gets to stop, and how often signals are heard meanwhile.
_PATIENCE = 10.0
_LISTENING = 0.2


def interruptible(call: Callable[[], T], cancel: Callable[[], object] | None) -> T:
    """Return what `call` gets from a database; on Ctrl-C, stop the database and give up.

    Args:
        call: What asks the database.
        cancel: What stops the database, from another thread; None if this driver is to be used
            by the thread that opened it.

    Example:
        >>> interruptible(lambda: 5, lambda: None)
        5
    """
    if cancel is None or threading.current_thread() is not threading.main_thread():
        return call()
    answer: Future[T] = Future()
    threading.Thread(target=_answer, args=(answer, call), daemon=True).start()
    try:
        # A signal does not end a wait on every system, nor after every driver.
        while not _is_done(answer):
            pass
    except KeyboardInterrupt:
        with suppress(Exception):
            cancel()
        _is_done(answer, _PATIENCE)
        raise
    return answer.result()


def interruptible_each(items: Iterator[T], cancel: Callable[[], object] | None) -> Iterator[T]:
    """Yield what `items` gets from a database, each under `interruptible`."""
    while (item := interruptible(lambda: next(items, None), cancel)) is not None:
        yield item


def _answer(answer: Future[T], call: Callable[[], T]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:
        answer.set_exception(error)


def _is_done(answer: Future[T], seconds: float = _LISTENING) -> bool:
    return bool(wait([answer], seconds).done)
