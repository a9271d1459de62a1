"""Progress of long work: a bar of tqdm, a line on standard error, or a function of the user."""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeAlias

ProgressLike: TypeAlias = "bool | Callable[[str, int, int], object] | None"
"""`None`: shown in terminals and notebooks; `True` and `False`: always and never; a function is called with the stage, the
work done and the work announced so far."""

DELAY = 1.0
"""Work of less than this many seconds shows nothing."""


class Display:
    """Shows progress while it is open; `callback` is what the native module calls."""

    callback: Callable[[str, int, int], object] | None

    def __init__(self, progress: ProgressLike) -> None:
        self._bar: Any = None
        self._is_text = False
        self._start = time.monotonic()
        if callable(progress):
            self.callback = progress
        elif progress is False or (progress is None and not _is_watched()):
            self.callback = None
        elif importlib.util.find_spec("tqdm") is not None:
            self.callback = self._update_bar
        else:
            self.callback = self._write_line

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        if self._is_text:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _is_early(self) -> bool:
        return time.monotonic() - self._start < DELAY

    def _update_bar(self, stage: str, done: int, announced: int) -> None:
        if self._bar is None:
            if self._is_early():
                return
            with warnings.catch_warnings():
                # tqdm warns in notebooks without widgets, and shows text
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm

            self._bar = tqdm(total=announced, leave=False)
        self._bar.total = announced
        self._bar.set_description_str(stage, refresh=False)
        self._bar.update(done - self._bar.n)

    def _write_line(self, stage: str, done: int, announced: int) -> None:
        if self._is_early():
            return
        self._is_text = True
        share = f" {min(done / announced, 1.0):.0%}" if announced else ""
        sys.stderr.write(f"\r\x1b[K{stage}{share}")
        sys.stderr.flush()


def _is_watched() -> bool:
    """Whether someone sees standard error: a terminal or a notebook."""
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", lambda: False)())
