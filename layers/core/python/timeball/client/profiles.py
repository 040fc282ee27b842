"""Where a program's Timeball is: the environment, or a profile that `timeball login` keeps.

Profiles are a file in the user's folder for configuration, with the mode 0600:

    default = "acme"

    [profiles.acme]
    url = "https://…"
    key = "tb_…"
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from timeball.client.errors import ConfigurationError

URL_VARIABLE, KEY_VARIABLE, PROFILE_VARIABLE = "TIMEBALL_URL", "TIMEBALL_KEY", "TIMEBALL_PROFILE"


@dataclass(frozen=True)
class Profile:
    """A Timeball and a key for it."""

    url: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class Profiles:
    """All profiles of a user."""

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """By their names."""
    default: str | None = None
    """The name of the one that holds where no other is named."""

    def put(self, name: str, profile: Profile) -> "Profiles":
        """Return the profiles with one more, which is the default from now on."""
        if not name or not name.isprintable():
            raise ValueError("The name of a profile has one printable character or more.")
        return Profiles({**self.profiles, name: profile}, name)

    def remove(self, name: str) -> "Profiles":
        """Return the profiles without one; if that was the default, the first that remains becomes it."""
        rest = {other: profile for other, profile in self.profiles.items() if other != name}
        return Profiles(rest, next(iter(rest), None) if self.default == name else self.default)

    def choose(self, name: str) -> "Profiles":
        """Return the profiles with another default."""
        self.named(name)
        return replace(self, default=name)

    def named(self, name: str | None = None) -> Profile:
        """Return the profile of a name, or the default one."""
        wanted = name or self.default
        if wanted is None:
            raise ConfigurationError(f"Set {URL_VARIABLE} and {KEY_VARIABLE}, or run `timeball login` once.")
        if wanted not in self.profiles:
            known = ", ".join(self.profiles) or "none"
            raise ConfigurationError(f"There is no profile {wanted!r}; `timeball login` makes one. Known: {known}.")
        return self.profiles[wanted]


def profiles_file(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the file of the profiles: in `XDG_CONFIG_HOME`, `~/.config`, or `APPDATA` on Windows."""
    if platform == "win32" and environ.get("APPDATA"):
        return Path(environ["APPDATA"], "timeball", "profiles.toml")
    home = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or Path.home(), ".config"))
    return Path(home, "timeball", "profiles.toml")


def read_profiles(file: Path) -> Profiles:
    """Read the profiles; a file that does not exist has none."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Profiles()
    import tomllib  # noqa: PLC0415 - not needed where the environment says all

    try:
        found = tomllib.loads(text)
        profiles = {name: Profile(str(one["url"]), str(one["key"])) for name, one in found.get("profiles", {}).items()}
        return Profiles(profiles, found.get("default"))
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        # Without the cause: its message may quote a key.
        raise ConfigurationError(f"{file} cannot be read: correct it, or remove it and run `timeball login`.") from None


def write_profiles(file: Path, profiles: Profiles) -> None:
    """Replace the file as a whole; only the user may read it, from its first byte on."""
    from tempfile import NamedTemporaryFile  # noqa: PLC0415 - only who logs in needs it

    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lines = [f"default = {_toml(profiles.default)}\n"] if profiles.default else []
    for name, profile in profiles.profiles.items():
        lines += [f"\n[profiles.{_toml(name)}]\nurl = {_toml(profile.url)}\nkey = {_toml(profile.key)}\n"]
    # A temporary file has the mode 0600.
    with NamedTemporaryFile("w", dir=file.parent, encoding="utf-8", delete=False) as written:
        written.writelines(lines)
    Path(written.name).replace(file)


def find_profile(environ: Mapping[str, str] = os.environ, file: Path | None = None, name: str | None = None) -> Profile:
    """Return the URL and the key to use: of the named profile, else of the environment, else of the default profile."""
    url, key = environ.get(URL_VARIABLE, ""), environ.get(KEY_VARIABLE, "")
    if name is None and url and key:
        return Profile(url, key)
    if name is None and bool(url) != bool(key):
        given, missing = (URL_VARIABLE, KEY_VARIABLE) if url else (KEY_VARIABLE, URL_VARIABLE)
        raise ConfigurationError(f"{given} is set and {missing} is not: set both, or neither.")
    profiles = read_profiles(profiles_file(environ) if file is None else file)
    return profiles.named(name or environ.get(PROFILE_VARIABLE) or None)


def _toml(text: str) -> str:
    """Return a text as a string of TOML; JSON's escapes of control characters are TOML's too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
