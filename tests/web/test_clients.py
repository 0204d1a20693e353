"""Which client a request counts for, from the address of its connection and from what proxies write."""

from __future__ import annotations

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.web.clients import client_of, is_trusted, named_client, networks

PROXIES = networks(["10.0.0.0/8", "::ffff:172.16.0.0/108", "2001:db8:ffff::/48"])


@pytest.mark.parametrize(
    ("header", "text", "client"),
    [
        ("x-forwarded-for", "192.0.2.7", "192.0.2.7"),
        # Azure's gateway and HAProxy write ports.
        ("x-forwarded-for", "192.0.2.7:4711", "192.0.2.7"),
        ("x-forwarded-for", "[2001:db8::7]:4711", "2001:db8::7"),
        ("x-forwarded-for", "[2001:db8::7]", "2001:db8::7"),
        ("x-forwarded-for", "2001:db8::7", "2001:db8::7"),
        ("x-forwarded-for", "fe80::1%eth0", "fe80::1"),
        ("x-forwarded-for", "::ffff:192.0.2.7", "192.0.2.7"),
        ("x-forwarded-for", "198.51.100.1, 192.0.2.7, 10.0.0.9:80", "192.0.2.7"),
        ("x-forwarded-for", "192.0.2.7, ::ffff:10.0.0.9", "192.0.2.7"),
        ("x-forwarded-for", "10.0.0.1, 10.0.0.2", None),
        ("x-forwarded-for", "192.0.2.7, unknown", None),
        ("x-forwarded-for", "192.0.2.7:4711:1", None),
        ("x-forwarded-for", "192.0.2.256", None),
        ("x-forwarded-for", ",", None),
        # The examples of RFC 7239.
        ("forwarded", 'for="_gazonk"', None),
        ("forwarded", 'For="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::17"),
        ("forwarded", "for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
        ("forwarded", "for=192.0.2.43, for=198.51.100.17", "198.51.100.17"),
        ("forwarded", 'for=192.0.2.43, for="[2001:db8:ffff::1]"', "192.0.2.43"),
        ("forwarded", "proto=http;by=203.0.113.43", None),
        ("forwarded", "for=unknown", None),
        ("forwarded", "host=for=192.0.2.1", None),
    ],
)
def test_the_last_address_that_is_no_proxy_is_the_client(
    header: str, text: str, client: str | None
) -> None:
    assert named_client([(header.encode(), text.encode())], PROXIES) == client


def test_a_header_that_the_client_wrote_beside_that_of_the_proxy_is_not_believed() -> None:
    proxy = (b"x-forwarded-for", b"192.0.2.7")
    assert named_client([proxy, (b"forwarded", b"for=198.51.100.1")], PROXIES) is None
    assert named_client([proxy, (b"forwarded", b"for=192.0.2.7")], PROXIES) == "192.0.2.7"
    # Several lines of one header are one list.
    lines = [(b"x-forwarded-for", b"198.51.100.1"), proxy]
    assert named_client(lines, PROXIES) == "192.0.2.7"


def test_one_subscriber_is_one_client() -> None:
    assert client_of("2001:db8:1:2::1") == client_of("2001:db8:1:2:ffff::9")
    assert client_of("2001:db8:1:2::1") != client_of("2001:db8:1:3::1")
    assert client_of("::ffff:192.0.2.7") == client_of("192.0.2.7") == "192.0.2.7"
    assert client_of("192.0.2.7") != client_of("192.0.2.8")
    # Two services of this machine are two, and what is no address stands for itself.
    assert (client_of("::1"), client_of("unknown")) == ("::1", "unknown")


def test_a_connection_to_a_socket_of_both_protocols_is_trusted_by_its_ipv4_address() -> None:
    assert is_trusted("::ffff:10.1.2.3", PROXIES)
    assert is_trusted("172.16.3.4", PROXIES)
    assert not is_trusted("::ffff:192.0.2.1", PROXIES)
    assert not is_trusted("proxy", PROXIES)


@pytest.mark.parametrize("text", ["proxy.example.org", "10.0.0.7/8", "10.0.0.7:80", "", "10.0.0/8"])
def test_what_names_no_network_is_refused_at_start(text: str) -> None:
    with pytest.raises(InvalidProblemError, match=r"10\.0\.0\.7 or 10\.0\.0\.0/24"):
        networks([text])
