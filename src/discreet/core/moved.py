"""Names that moved to the distribution ``discreet-reproduction``, and the answer to a use of them.

What the papers print without a valid guarantee is not part of this library. Registries name it as text
(``"discreet_reproduction...:name"``), and :func:`load` imports such a text or says how to install what is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from discreet.core.errors import InvalidProblemError

INSTALL = "pip install ./reproduction"
"""Command that installs the distribution, in a clone; it is on no index, where anybody could take its name."""

_ROOT = "discreet_reproduction"
_LRGEO = f"{_ROOT}.lrgeo"
_PROTOCOL = f"{_LRGEO}.service.published"

MOVED: dict[str, str] = {
    "discreet locate --published": f"{_PROTOCOL}:PaperClient",
    "discreet serve --published": f"{_PROTOCOL}:PaperServer",
    "discreet.kanonymity.reproduce": f"{_ROOT}.kanonymity.as_published.split_carry:reproduce",
    "discreet.lrgeo.FrozenScales": f"{_LRGEO}.frozen_scales:FrozenScales",
    "discreet.lrgeo.Instance": f"{_LRGEO}.as_published.instance:Instance",
    "discreet.lrgeo.LRGeo": f"{_LRGEO}.as_published.lr_geo:LRGeo",
    "discreet.lrgeo.audited_design": f"{_LRGEO}.audited:audited_design",
    "discreet.lrgeo.composite_check": f"{_LRGEO}.as_published.composite:composite_check",
    "discreet.lrgeo.reproduce": f"{_LRGEO}.as_published.protocol:reproduce",
    "discreet.service.PaperClient": f"{_PROTOCOL}:PaperClient",
    "discreet.service.PaperMode": f"{_PROTOCOL}:PaperServer",
    "discreet.service.PaperServer": f"{_PROTOCOL}:PaperServer",
    "discreet.service.ParametersMessage": f"{_PROTOCOL}:ParametersMessage",
}
"""Public name or option of this library -> ``"module:name"`` of its replacement."""


def where_now(name: str) -> str:
    """Return the sentence that says where a name or an option of :data:`MOVED` is now; empty for any other.

    Examples
    --------
    >>> where_now("discreet.lrgeo.LRGeo")
    'it is discreet_reproduction.lrgeo.as_published.lr_geo.LRGeo, installed by pip install ./reproduction'
    >>> where_now("discreet.lrgeo.design")
    ''
    """
    if name not in MOVED:
        return ""
    return f"it is {MOVED[name].replace(':', '.')}, installed by {INSTALL}"


def load(entry: str, field: str, name: str) -> Any:  # noqa: ANN401 - whatever a registry names
    """Import an object that a registry names as text.

    The first call imports the module. AttributeError for a name that the module does not have.

    Parameters
    ----------
    entry
        ``"module:name"``.
    field, name
        Argument and registered name that the user typed, for the error message.

    Returns
    -------
    object
        The object.

    Raises
    ------
    InvalidProblemError
        If the object is in the distribution ``discreet-reproduction`` and this is not installed; the message has the
        command that installs it.

    Examples
    --------
    >>> load("math:floor", "method", "floor")(2.5)
    2
    """
    module, _, attribute = entry.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != _ROOT:
            raise
    raise InvalidProblemError(
        field,
        f"the distribution that has {entry.replace(':', '.')}: {INSTALL}",
        f"{name!r}, which is not installed",
    )
