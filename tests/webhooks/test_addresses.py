"""Which addresses are open, as a table."""

import ipaddress

import pytest

from timeball.targets.http.addresses import AddressRules, ForbiddenAddressError, parse_rules

PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",  # just below the shared address space of carriers
    "100.128.0.0",  # just above it
    "172.15.255.255",
    "172.32.0.0",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80b::200e",
    "::ffff:8.8.8.8",  # mapped
    "64:ff9b::8.8.8.8",  # DNS64 gives such addresses to networks without IPv4
]

FORBIDDEN = [
    "0.0.0.0",  # noqa: S104 -- Linux takes it for loopback
    "10.0.0.1",
    "100.64.0.1",  # shared address space of carriers
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",  # instance metadata
    "169.254.170.2",  # container credentials
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",  # documentation
    "192.88.99.1",  # relays of 6to4
    "192.168.0.1",
    "198.18.0.1",  # benchmarks
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",  # multicast
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",  # IPv4-compatible
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",  # translated
    "64:ff9b::127.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::8.8.8.8",
    "100::1",  # discard
    "2001::1",  # Teredo
    "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo, of the client 127.0.0.1
    "2001:db8::1",  # documentation
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "2002:a9fe:a9fe::1",  # 6to4 of the metadata
    "2002:808:808::1",  # 6to4 of a public address: webhooks are not served there
    "3fff::1",  # documentation
    "4000::1",  # not assigned
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",  # instance metadata
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",  # site-local
    "ff02::1",
    "2606:4700::1111%eth0",  # a zone
    "2130706433",
    "0x7f.1",
    "127.1",
    "0177.0.0.1",
    "localhost",
    "",
]

STILL_CLOSED = [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.100.1",
    "fe80::1",
    "fd00:ec2::254",
    "64:ff9b:1::7f00:1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2002:a01:203::1",  # 6to4, of any address
    "2001:0:a9fe:a9fe::1",  # Teredo, of the server 169.254.169.254
    "2001:0:4136:e378:8000:63bf:5601:5601",  # Teredo, of the client 169.254.169.254
    "fd12::1%eth0",
]

EVERYTHING = parse_rules("0.0.0.0/0, ::/0")


def is_open(rules: AddressRules, address: str, port: int = 443) -> bool:
    try:
        rules.check(address, port)
    except ForbiddenAddressError:
        return False
    return True


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_open(address: str) -> None:
    assert is_open(AddressRules(), address)


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_address_that_is_not_public_is_forbidden(address: str) -> None:
    assert not is_open(AddressRules(), address)


@pytest.mark.parametrize("address", STILL_CLOSED)
def test_the_setting_cannot_open_link_local_addresses_in_any_disguise(address: str) -> None:
    assert not is_open(EVERYTHING, address)


@pytest.mark.parametrize(
    ("address", "open_"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),  # the same address
        ("64:ff9b::10.1.2.3", True),
        ("10.2.0.1", False),
        ("127.0.0.1", False),
        ("fd12::1", True),
        ("fd13::1", False),
        ("8.8.8.8", True),  # the setting adds networks and removes none
    ],
)
def test_the_setting_opens_its_networks_and_no_others(address: str, open_: bool) -> None:  # noqa: FBT001 -- a table
    assert is_open(parse_rules("10.1.0.0/16,fd12::/16"), address) is open_


@pytest.mark.parametrize(
    ("address", "port", "open_"),
    [
        ("127.0.0.1", 9001, False),
        ("127.0.0.2", 9001, False),  # a listener on 0.0.0.0 answers here too
        ("::1", 9001, False),
        ("127.0.0.1", 9002, True),
        ("8.8.8.8", 9001, True),  # port 9001 of another host
    ],
)
def test_the_runtime_api_of_lambda_stays_closed_where_loopback_is_open(
    address: str,
    port: int,
    open_: bool,  # noqa: FBT001 -- a table
) -> None:
    assert is_open(parse_rules("127.0.0.0/8,::1/128", runtime_api="127.0.0.1:9001"), address, port) is open_


@pytest.mark.parametrize(
    ("text", "networks"),
    [
        ("", ()),
        (" , ", ()),
        ("127.0.0.0/8", ("127.0.0.0/8",)),
        (" 10.0.0.0/8 ,fd00::/8,", ("10.0.0.0/8", "fd00::/8")),
        ("10.1.2.3", ("10.1.2.3/32",)),
    ],
)
def test_a_list_of_networks_is_parsed(text: str, networks: tuple[str, ...]) -> None:
    assert parse_rules(text).allowed == tuple(map(ipaddress.ip_network, networks))


@pytest.mark.parametrize("text", ["10.0.0.1/8", "10.0.0.0/33", "*", "intranet", "10.0.0.0-10.0.0.9"])
def test_an_invalid_network_is_an_error_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is not a network"):
        parse_rules(f"127.0.0.0/8,{text}")
