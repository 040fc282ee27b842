"""Which addresses a webhook may reach: public ones, and those that a setting opens.

An IPv6 address that leads to an IPv4 address (mapped, NAT64) is judged by the latter. Imports no HTTP client.
"""

import ipaddress
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NEVER: tuple[Network, ...] = (
    ipaddress.ip_network("169.254.0.0/16"),  # link-local: instance metadata, container credentials, the Lambda runtime
    ipaddress.ip_network("fe80::/10"),  # link-local
    ipaddress.ip_network("fd00:ec2::/32"),  # instance metadata and its neighbours over IPv6
    ipaddress.ip_network("64:ff9b:1::/48"),  # NAT64 of local use: the position of the inner address is not fixed
    # No webhooks are served here, and versions of Python disagree: some, or all, call these addresses global.
    ipaddress.ip_network("192.0.0.0/24"),  # protocol assignments
    ipaddress.ip_network("192.88.99.0/24"),  # relays of 6to4
    ipaddress.ip_network("2001::/23"),  # protocol assignments; Teredo, whose addresses carry two others
    ipaddress.ip_network("2002::/16"),  # 6to4, whose addresses carry another
    ipaddress.ip_network("3fff::/20"),  # documentation
)
"""Closed, whatever the setting says."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ASSIGNED_V6 = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that is global unicast; `is_global` also accepts unassigned addresses."""


class ForbiddenAddressError(OSError):
    """The target's address is not one that webhooks may call: it is private, local or reserved."""


@dataclass(frozen=True)
class AddressRules:
    """The networks that are open besides public addresses, and the port that is closed on all but public addresses."""

    allowed: tuple[Network, ...] = ()
    closed_port: int | None = None

    def check(self, text: str, port: int) -> None:
        """Raise ForbiddenAddressError unless a webhook may connect to an address (as text) at a port."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise ForbiddenAddressError from None
        if not self.is_open(address, port):
            raise ForbiddenAddressError

    def is_open(self, address: Address, port: int) -> bool:
        """Return whether a webhook may connect to an address at a port."""
        if isinstance(address, ipaddress.IPv6Address):
            if address.scope_id is not None:
                return False
            address = _inner(address)
        if any(address in network for network in _NEVER):
            return False
        if _is_public(address):
            return True
        return port != self.closed_port and any(address in network for network in self.allowed)


PUBLIC_ONLY = AddressRules()


def parse_rules(private_targets: str, runtime_api: str = "") -> AddressRules:
    """Return the rules of a comma-separated list of CIDRs.

    `runtime_api` is the `host:port` of Lambda's runtime API, if there is one; its port is closed. Raises ValueError,
    with a sentence, for text that is no CIDR.
    """
    allowed: list[Network] = []
    for text in filter(None, map(str.strip, private_targets.split(","))):
        try:
            allowed.append(ipaddress.ip_network(text))
        except ValueError:
            raise ValueError(f"{text!r} is not a network; write one as 10.0.0.0/8 or fd00::/8.") from None
    # Only the port counts: a process that listens on one local address may listen on others.
    port = runtime_api.rpartition(":")[2]
    return AddressRules(tuple(allowed), int(port) if port.isdecimal() else None)


def _is_public(address: Address) -> bool:
    is_assigned = address.version == 4 or address in _ASSIGNED_V6
    return is_assigned and address.is_global and not address.is_multicast


def _inner(address: ipaddress.IPv6Address) -> Address:
    """Return the IPv4 address to which packets for an IPv6 address go, or the IPv6 address itself."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address
