"""Packages that a part of the library needs and a plain installation lacks, and the command that installs them.

A message names the packages themselves. ``pip install "discreet[cli]"`` would ask an index for the name ``discreet``,
which no index has: it fails in a clone, and installs a stranger's package once the name is taken.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from discreet.core.errors import InvalidProblemError

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?P<version>[^;]*)")
_EXTRA = re.compile(r"""extra == ['"](?P<extra>[^'"]+)['"]""")


@cache
def packages_of(extra: str) -> dict[str, str]:
    """List the packages of an extra, as the metadata of the installation state them.

    The dict is empty for an unknown extra, and where discreet was never installed. The metadata are read once.

    Parameters
    ----------
    extra
        A key of ``[project.optional-dependencies]`` in ``pyproject.toml``.

    Returns
    -------
    dict
        Package -> the versions that will do, such as ``">=13"``.

    Examples
    --------
    >>> "polars" in packages_of("tables"), "polars" in packages_of("studio")
    (True, True)
    """
    packages: dict[str, str] = {}
    try:
        lines = requires("discreet") or ()
    except PackageNotFoundError:
        # Run from sources that were never installed: nothing is known to be missing.
        return packages
    for line in lines:
        wanted, requirement = _EXTRA.search(line), _REQUIREMENT.match(line)
        if wanted is None or requirement is None or wanted["extra"] != extra:
            continue
        # Extras within extras were resolved when the metadata were written.
        packages[requirement["name"]] = requirement["version"].strip()
    return packages


def install_command(extra: str) -> str:
    """Return the command that installs what is missing of an extra, or all of it when nothing is missing.

    `extra` is a key of the optional dependencies; for an unknown one no package is named.

    Examples
    --------
    >>> install_command("tables").startswith('pip install "polars>=')
    True
    """
    packages, missing = packages_of(extra), missing_packages(extra)
    names = (f'"{name}{packages[name]}"' for name in missing or packages)
    return f"pip install {' '.join(names)}"


def missing_packages(extra: str) -> list[str]:
    """List the packages of an extra that cannot be imported.

    Whether a module of the package's name is there is looked up, not imported; versions are not compared.

    Examples
    --------
    >>> missing_packages("tables")
    []
    """
    return [name for name in packages_of(extra) if find_spec(name.replace("-", "_")) is None]


def require(extra: str, argument: str) -> None:
    """Refuse a request whose packages are not installed.

    Parameters
    ----------
    extra
        The extra that has them.
    argument
        The command, option or argument that needs them.

    Raises
    ------
    InvalidProblemError
        With the first package that is missing, and the command that installs all of them.
    """
    if missing := missing_packages(extra):
        expected = f"the packages that it needs: {install_command(extra)}"
        raise InvalidProblemError(argument, expected, f"no {missing[0]}")
