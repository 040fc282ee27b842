"""The client of a command: of the environment, or of the profile that `timeball login` has kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from timeball.cli.status import CommandError
from timeball.cli.surroundings import Surroundings
from timeball.client import Timeball
from timeball.client.calls import path_of as client_path_of
from timeball.client.profiles import Profile, find_profile, profiles_file


@dataclass(frozen=True)
class SurroundingClock:
    """The clock of the surroundings, as the client uses one."""

    surroundings: Surroundings

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self.surroundings.now() / 1000

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        self.surroundings.pause(seconds)


def connect(surroundings: Surroundings) -> Timeball:
    """Return the client of a command. Raises ConfigurationError."""
    return connect_to(surroundings, profile_in(surroundings))


def connect_to(surroundings: Surroundings, profile: Profile) -> Timeball:
    """Return a client of a URL and a key. Raises CommandError if they cannot be those of a Timeball."""
    clock = SurroundingClock(surroundings)
    try:
        return Timeball(profile.url, profile.key or None, transport=surroundings.transport, clock=clock)
    except ValueError as bad:
        raise CommandError(str(bad)) from None


def profile_in(surroundings: Surroundings) -> Profile:
    """Return the URL and the key that hold for a command. Raises ConfigurationError."""
    environment: Mapping[str, str] = surroundings.environment
    return find_profile(environment, profiles_file(environment), surroundings.profile)


def path_of(*parts: str, verb: str = "") -> str:
    """Return the path of a resource, as the client makes it. Raises CommandError for an id that is none."""
    try:
        return client_path_of(*parts, verb=verb)
    except ValueError as bad:
        raise CommandError(str(bad)) from None
