"""Questions to a database that Ctrl-C ends, however long the database takes.

While a driver waits for its database, Python hears no signal. So the driver waits on a thread of
its own, and the thread that hears signals tells the database to stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
# How many seconds a database gets to stop, and how often signals are heard meanwhile: a signal
# does not end a wait on every system, nor after every driver.
_PATIENCE = 10.0
_LISTENING = 0.2


def interruptible(call: Callable[[], T], cancel: Callable[[], object] | None) -> T:
    """Return what `call` gets from a database, as `interruptible_each` does.

    Example:
        >>> interruptible(lambda: 5, lambda: None)
        5
    """
    (answer,) = interruptible_each((ask() for ask in (call,)), cancel)
    return answer


def interruptible_each(items: Iterator[T], cancel: Callable[[], object] | None) -> Iterator[T]:
    """Yield what `items` gets from a database; on Ctrl-C, stop the database and give up.

    Args:
        items: What asks the database, each time that an item is asked for.
        cancel: What stops the database, from another thread; None if the driver is to be used by
            the thread that opened it.
    """
    if cancel is None or threading.current_thread() is not threading.main_thread():
        yield from items
        return
    asking = _Asking(items)
    try:
        while (item := asking.next()) is not None:
            yield item
    except KeyboardInterrupt:
        with suppress(Exception):
            cancel()
        raise
    finally:
        asking.end()


class _Asking(Generic[T]):
    """A thread that gets items, one whenever it is asked for one."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._answers: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
        self._ended: SimpleQueue[bool] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def next(self) -> T | None:
        """Return the next item; None after the last one."""
        self._wanted.put(True)  # noqa: FBT003
        while True:
            with suppress(Empty):
                item, error = self._answers.get(timeout=_LISTENING)
                break
        if error is not None:
            raise error
        return item

    def end(self) -> None:
        """Let go of what gets items, as soon as it is done with the one that it is at."""
        self._wanted.put(False)  # noqa: FBT003
        with suppress(Empty):
            self._ended.get(timeout=_PATIENCE)

    def _run(self) -> None:
        while self._wanted.get():
            try:
                self._answers.put((next(self._items, None), None))
            except BaseException as error:
                self._answers.put((None, error))
        with suppress(Exception):
            getattr(self._items, "close", lambda: None)()
        self._ended.put(True)  # noqa: FBT003
