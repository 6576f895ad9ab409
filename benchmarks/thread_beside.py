"""Work in a thread beside a block, such as reading a counter again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def thread_beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work` until the block ends, which sets the event that it gets."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
