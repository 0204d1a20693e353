"""The bytes of a file, and one sentence for whatever is wrong with them."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.errors import DiscreetError, InvalidProblemError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["MALFORMED", "is_whole"]

MALFORMED = (
    zipfile.BadZipFile,
    DiscreetError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What the parts of a file that is no artefact may cause; RuntimeError: encrypted, or nested without end."""


@contextmanager
def is_whole(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Give the bytes of a file; whatever is wrong with them is said of the file."""
    try:
        data = Path(path).read_bytes()
    except ValueError:
        raise InvalidProblemError("path", "a path that a file can have", repr(path)) from None
    except OSError as error:
        got = f"{path}: {error.strerror}"
        raise InvalidProblemError("path", "a file that can be read", got) from None
    try:
        yield data
    except MALFORMED as error:
        detail = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidProblemError(
            "path", "a whole discreet artefact", f"{path}: {detail}"
        ) from None
