"""`timeball logout`: forget the API key of a profile."""

from typing import Annotated

import typer

from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands
from timeball.client.profiles import profiles_file, read_profiles, write_profiles

app = Commands("Forget the API key of a profile.")


@app.add()
def logout(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[PROFILE]", help="A profile; by default the default one.")
    ] = None,
) -> None:
    """Forget the API key of a profile. The key stays valid: `timeball key delete` revokes one."""
    surroundings = surroundings_of(context)
    file = profiles_file(surroundings.environment)
    profiles = read_profiles(file)
    gone = name or surroundings.profile or profiles.default
    if gone is None or gone not in profiles.profiles:
        raise CommandError(
            "There is no profile to forget." if gone is None else f"There is no profile {gone}.", Status.NOT_FOUND
        )
    write_profiles(file, profiles.remove(gone))
    surroundings.say(f"The profile {gone} is forgotten.")
