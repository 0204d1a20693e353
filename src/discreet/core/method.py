"""The registry of a mechanism's methods: one record each, and one function that reads ``method=``.

A mechanism states its methods once, as a :class:`Methods` of :class:`MethodRecord`; lists of names, ``--method``,
comparisons, audits and the documentation read that. Nothing is imported before a method is made::

    METHODS = Methods([MethodRecord("direct", "some.module:Direct", "the program as a whole", "metric DP"), ...])
    method = METHODS.resolve(method, optional=True)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.moved import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@final
@dataclass(frozen=True)
class MethodRecord:
    """What is known of a method before it is loaded.

    Parameters
    ----------
    name
        The name that people type, with hyphens.
    where
        ``"module:maker"``; the maker is a frozen dataclass or a function, and needs no arguments.
    summary
        One line for ``--help`` and the documentation, without a full stop.
    guarantee
        What its outcome guarantees, such as ``"metric DP"``; ``None`` where nothing is.
    why_none
        The reason why there is no guarantee; empty where there is one.

    Raises
    ------
    InvalidProblemError
        For a record with both a guarantee and a reason why there is none, or with neither.

    Examples
    --------
    >>> MethodRecord("kernel", "discreet.metricdp.methods.kernel:Kernel", "a closed form", "metric DP").make()
    Kernel()
    """

    name: str
    where: str
    summary: str
    guarantee: str | None
    why_none: str = ""

    def __post_init__(self) -> None:
        if (self.guarantee is None) != bool(self.why_none):
            came = "neither" if self.guarantee is None else "both"
            raise InvalidProblemError(self.name, "a guarantee, or why there is none", came)

    def make(self, **options: object) -> Any:  # noqa: ANN401 - each mechanism has its own protocol of methods
        """Load the method and make it; `options` are its fields, and others have their defaults.

        The first call imports its module.

        Raises
        ------
        InvalidProblemError
            For a published method without a guarantee whose distribution is not installed.
        """
        return load(self.where, "method", self.name)(**options)

    def is_of(self, method: object) -> bool:
        """Whether an instance belongs to this record: it has its class, or its function returns an equal one.

        The method is loaded only if the instance is of the same module.
        """
        module, _, maker = self.where.partition(":")
        kind = type(method)
        if kind.__module__ != module:
            return False
        return kind.__name__ == maker or method == self.make()


@final
class Methods(Mapping[str, MethodRecord]):
    """The methods of a mechanism by name, in the order in which they are listed.

    Parameters
    ----------
    records
        One record a method.
    protocol
        What every method has: names of attributes without which an instance is refused.

    Raises
    ------
    InvalidProblemError
        When two records have one name.

    Examples
    --------
    >>> home = "discreet.metricdp.methods"
    >>> methods = Methods([
    ...     MethodRecord("direct", f"{home}.direct:Direct", "the program as a whole", "metric DP"),
    ...     MethodRecord("kernel", f"{home}.kernel:Kernel", "a closed form", "metric DP"),
    ... ])
    >>> methods.resolve("kernel")
    Kernel()
    >>> methods.resolve("slow")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: method: expected one of direct, kernel, got 'slow'
    """

    def __init__(
        self, records: Iterable[MethodRecord], protocol: tuple[str, ...] = ("solve",)
    ) -> None:
        self._records: dict[str, MethodRecord] = {}
        self.protocol = protocol
        for record in records:
            if record.name in self._records:
                raise InvalidProblemError("records", "each name once", f"{record.name!r} twice")
            self._records[record.name] = record

    def __getitem__(self, name: str) -> MethodRecord:
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def proven(self) -> Methods:
        """The methods with a guarantee."""
        records = [record for record in self.values() if record.guarantee is not None]
        return Methods(records, self.protocol)

    @property
    def unproven(self) -> Methods:
        """The methods without a guarantee."""
        return Methods(
            [record for record in self.values() if record.guarantee is None], self.protocol
        )

    def resolve(
        self,
        given: object,
        *,
        field: str = "method",
        optional: bool = False,
        accept_no_guarantee: bool = False,
    ) -> Any:  # noqa: ANN401 - each mechanism has its own protocol of methods
        """Read ``method=``: an instance or a registered name.

        Parameters
        ----------
        given
            What the caller said. A name may have underscores in place of hyphens, as older artefacts do.
        field
            The argument, for messages.
        optional
            Whether ``None`` is allowed; it is given back.
        accept_no_guarantee
            Whether methods without a guarantee are allowed, as in ``reproduce``.

        Returns
        -------
        object
            A method, or ``None``.

        Raises
        ------
        InvalidProblemError
            For a name that is not registered, a class, what is no method, ``None`` where it is not allowed, or a
            method without a guarantee.
        """
        allowed = self if accept_no_guarantee else self.proven
        if given is None and optional:
            return None
        if isinstance(given, str):
            record = self.find(given, field, allowed)
            self._refuse(record, field, allowed)
            return record.make()
        if isinstance(given, type):
            raise InvalidProblemError(
                field,
                f"an instance or a name ({_listed(allowed)})",
                f"the class {given.__name__}; write {given.__name__}()",
            )
        known = self.records_of(given)
        if known and not any(record.name in allowed for record in known):
            self._refuse(known[0], field, allowed)
        if not all(hasattr(given, name) for name in self.protocol):
            came = "None" if given is None else type(given).__name__
            raise InvalidProblemError(field, f"an instance or a name ({_listed(allowed)})", came)
        return given

    def find(
        self, name: str, field: str = "method", allowed: Iterable[str] | None = None
    ) -> MethodRecord:
        """Return the record of a name; underscores and spaces count as hyphens.

        `field` names the argument in the message; `allowed` are by default all names.

        Raises
        ------
        InvalidProblemError
            For a name that is not registered, with the most similar name in `allowed`.
        """
        for spelled in (name, re.sub("[ _]", "-", name), name.replace("-", "_")):
            if spelled in self._records:
                return self._records[spelled]
        raise unknown_name(field, name, sorted(self if allowed is None else allowed))

    def records_of(self, method: object) -> list[MethodRecord]:
        """List the records to which an instance belongs, the one that it equals first; empty if there are none.

        Records of the instance's module are loaded, and made to compare.
        """
        records = [record for record in self.values() if record.is_of(method)]
        return sorted(records, key=lambda record: method != record.make())

    def name_of(self, method: object) -> str:
        """Return the registered name of an instance, else the name of its class.

        A method that is not registered is not refused.

        Examples
        --------
        >>> from discreet.metricdp.methods import METHODS
        >>> from discreet.metricdp import Direct
        >>> METHODS.name_of(Direct())
        'direct'
        """
        records = self.records_of(method)
        return records[0].name if records else type(method).__name__

    def _refuse(self, record: MethodRecord, field: str, allowed: Methods) -> None:
        """Raise InvalidProblemError, with the reason, for a method that is not among the `allowed` ones."""
        if record.name not in allowed:
            raise InvalidProblemError(
                field,
                f"a method with a guarantee ({_listed(allowed)})",
                f"{record.name!r}, which has none: {record.why_none}",
            )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
