"""The exceptions and warnings of the package, one class per kind of problem."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AnswerWarning",
    "CfqpError",
    "ConfigError",
    "DataError",
    "FileError",
    "FitError",
    "ModelFileError",
    "NotFittedError",
]


class CfqpError(Exception):
    """The base of all errors of this package.

    Parameters
    ----------
    message : str
        The place of the problem and what was found there.
    hint : str, optional
        What to do about it.

    Attributes
    ----------
    message, hint
        As given.

    Examples
    --------
    >>> import cfqp
    >>> try:
    ...     cfqp.CFQP(classes=0).fit(cfqp.simulate("single", 50).arrays)
    ... except cfqp.CfqpError as error:
    ...     print(error.message)
    ...     print(error.hint)
    classes: must be at least 1, is 0
    give a positive integer
    """

    message: str
    hint: str | None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class DataError(CfqpError, ValueError):
    """Values of a table, an array or a data file cannot be used."""


class ConfigError(CfqpError, ValueError):
    """A setting cannot be used. The message begins with its name."""


class FitError(CfqpError, RuntimeError):
    """A fit could not continue."""


class ModelFileError(CfqpError, ValueError):
    """A model file is damaged, or is no model file."""


class NotFittedError(CfqpError, ValueError, AttributeError):
    """The model has not been fitted."""


class FileError(CfqpError, OSError):
    """The operating system could not read or write a file.

    Parameters
    ----------
    errno : int
        The error number of the operating system.
    message : str
        What happened.
    path : str
        The file.
    hint : str, optional
        What to do about it.

    Attributes
    ----------
    errno, strerror, filename
        As those of every `OSError`.
    """

    def __init__(self, errno: int, message: str, path: str, hint: str | None = None) -> None:
        OSError.__init__(self, errno, message, path)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errno, self.strerror, self.filename, self.hint)

    def __str__(self) -> str:
        where = self.message if str(self.filename) in self.message else f"{self.filename}: {self.message}"
        return f"{where}\nhint: {self.hint}" if self.hint else where


class AnswerWarning(UserWarning):
    """Some answers are flagged: the column `flag` says which, and why."""
