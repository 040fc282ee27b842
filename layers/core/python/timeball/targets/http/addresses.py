"""The urls that webhooks may have, and the addresses that they may reach: public ones, and those that a setting opens.

A url is as strict as the API that accepts it, so that no other parser can read it differently. Invariant: the host that
it names is looked up and called. The rest is sent as it stands: no dots are resolved and nothing is decoded; only
characters that no url may contain are percent-encoded. An IPv6 address that leads to an IPv4 address (mapped, NAT64) is
judged by the latter. Imports no HTTP client.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

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

CLOSED: Final = "private, local or reserved; the setting timeball:private_targets opens private networks"
"""Why webhooks may not call an address. It does not tell which of these it is: names would tell of private networks."""

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


_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]{1,253}|\[[0-9a-f.]*:[0-9a-f:.]*\])(?::(?P<port>[0-9]*))?"
    r'(?P<rest>(?:[/?][!-"$-~]*)?)',
    re.ASCII | re.IGNORECASE,
)
_LEGAL: Final = "%:/?[]@!$&'()*+,;="
_PORTS: Final = {"http": 80, "https": 443}


class UncallableError(ValueError):
    """Nothing can be sent to this target; the message is a sentence."""


@dataclass(frozen=True)
class Url:
    """An absolute url. `host` is a name or an address, in lower case and without brackets; `rest` is what follows."""

    scheme: str
    host: str
    port: int
    rest: str

    @property
    def origin(self) -> str:
        """Return the scheme, the host and the port: the url without its path and query."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def request_target(self) -> str:
        """Return the request target, exactly as it is sent."""
        return self.rest if self.rest.startswith("/") else f"/{self.rest}"

    def __str__(self) -> str:
        return self.origin + self.rest


def parse_url(text: str) -> Url:
    """Return the url of a target; raises UncallableError unless it is http or https, and names a host."""
    found = _URL.fullmatch(text)
    if found is None:
        if not text.lower().startswith(("http://", "https://")):
            raise UncallableError("The target's url must begin with https:// or http://.")
        raise UncallableError("The target's url is malformed.")
    scheme = found["scheme"].lower()
    port = int(found["port"] or _PORTS[scheme])
    if not 0 < port < 65_536:
        raise UncallableError("The target's url is malformed.")
    return Url(scheme, found["host"].lower().strip("[]"), port, quote(found["rest"], safe=_LEGAL))
