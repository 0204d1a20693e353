"""Addresses of clients: of the connection, or of the client that a trusted proxy names.

Each is counted under one name: IPv4 written as IPv6 is IPv4, and all addresses of an IPv6 network of 64 bits, which
one subscriber has, are one client.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Address = ipaddress.IPv4Address | ipaddress.IPv6Address
    Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HEADERS = (b"x-forwarded-for", b"forwarded")
"""Headers in which a proxy names the client."""

_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
"""The addresses of IPv6 that stand for those of IPv4 (RFC 4291, section 2.5.5.2)."""

_NODE = re.compile(r"\[(?P<six>[^\]]*)\](:[\w-]*)?|(?P<four>[\d.]+)(:[\w-]*)?|(?P<bare>[^\s\"]*)")
"""An address of a node: IPv6 in brackets or IPv4, with a port or without, or IPv6 alone (RFC 7239, section 6)."""

_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<token>[^;"\s]*))', re.IGNORECASE)


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Read addresses and networks.

    Parameters
    ----------
    texts
        Addresses or networks, of IPv4 or IPv6, as texts; one address is a network of its own.

    Raises
    ------
    InvalidProblemError
        For other text, and for a network whose address has bits beyond its length.

    Examples
    --------
    >>> networks(["127.0.0.1", "10.0.0.0/8", "::ffff:192.0.2.0/120"])
    (IPv4Network('127.0.0.1/32'), IPv4Network('10.0.0.0/8'), IPv4Network('192.0.2.0/24'))
    """
    try:
        return tuple(_unmapped(ipaddress.ip_network(text.strip())) for text in texts)
    except ValueError:
        expected = "addresses or networks, such as 10.0.0.7 or 10.0.0.0/24"
        raise InvalidProblemError("trusted_proxies", expected, ", ".join(texts)) from None


def client_of(text: str, *, subscriber_bits: int = 64) -> str:
    """Return the name under which an address is counted; other text is returned as it is.

    An IPv6 address gives its network of `subscriber_bits`, but for the loopback one; a zone such as ``%eth0`` is
    dropped.

    Parameters
    ----------
    text
        Address of a connection, or any text.
    subscriber_bits
        Bits of the IPv6 network that one subscriber has (RFC 6177).

    Examples
    --------
    >>> client_of("::ffff:192.0.2.7"), client_of("2001:db8::7"), client_of("unknown")
    ('192.0.2.7', '2001:db8::/64', 'unknown')
    """
    address = _address(text)
    if address is None or isinstance(address, ipaddress.IPv4Address) or address.is_loopback:
        return text if address is None else str(address)
    return str(ipaddress.ip_network((address, subscriber_bits), strict=False))


def is_trusted(text: str, trusted: Sequence[Network]) -> bool:
    """Return whether an address is one of a trusted proxy.

    ``False`` for text that is no address. ``O(len(trusted))``.

    Parameters
    ----------
    text
        Address of a connection, or of one hop in a header.
    trusted
        Networks of proxies, from :func:`networks`.

    Examples
    --------
    >>> is_trusted("::ffff:10.1.2.3", networks(["10.0.0.0/8"]))
    True
    """
    address = _address(text)
    return address is not None and any(address in network for network in trusted)


def named_client(headers: Sequence[tuple[bytes, bytes]], trusted: Sequence[Network]) -> str | None:
    """Return the client that a trusted proxy names: the last address that is no trusted proxy.

    Parameters
    ----------
    headers
        Pairs of a name, in small letters, and a value: headers of a request from a trusted proxy.
    trusted
        Networks of proxies.

    Returns
    -------
    str or None
        Address of the client, or ``None`` if the last hop has no address, if there is no such header, if all hops are
        trusted proxies, or if both headers are present and name two clients: a proxy writes one of them, and the
        client may have written the other.

    Examples
    --------
    >>> proxies = networks(["10.0.0.0/8"])
    >>> named_client([(b"x-forwarded-for", b"192.0.2.7:4711, 10.0.0.9")], proxies)
    '192.0.2.7'
    >>> named_client([(b"forwarded", b'for="[2001:db8::7]:4711";proto=https')], proxies)
    '2001:db8::7'
    """
    clients = set()
    for header in HEADERS:
        hops = b",".join(value for name, value in headers if name == header).decode("latin-1")
        if hops:
            clients.add(_last_client(hops.split(","), trusted, is_standard=header == b"forwarded"))
    return clients.pop() if len(clients) == 1 else None


def _last_client(
    hops: Sequence[str], trusted: Sequence[Network], *, is_standard: bool
) -> str | None:
    """Return the last address of a forwarding header that is no trusted proxy, as text.

    None if a hop before it, from the end, is no address, or if all are trusted. `is_standard` reads hops as ``for=``
    pairs of the header Forwarded.
    """
    for hop in reversed(hops):
        node = hop.strip()
        if is_standard:
            named = _FOR.search(hop)
            node = "" if named is None else named["quoted"] or named["token"] or ""
        parts = _NODE.fullmatch(node)
        text = "" if parts is None else parts["six"] or parts["four"] or parts["bare"] or ""
        address = _address(text)
        if address is None:
            return None
        if not is_trusted(text, trusted):
            return str(address)
    return None


def _address(text: str) -> Address | None:
    """Read an address without its zone, IPv4 inside of IPv6 as IPv4; ``None`` for anything else."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _unmapped(network: Network) -> Network:
    """Return the IPv4 network that an IPv6 network stands for, or the network itself."""
    mapped = getattr(network.network_address, "ipv4_mapped", None)
    if mapped is None or network.prefixlen < _MAPPED.prefixlen:
        return network
    return ipaddress.ip_network((mapped, network.prefixlen - _MAPPED.prefixlen))
