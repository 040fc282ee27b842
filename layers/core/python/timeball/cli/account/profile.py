"""`timeball profile`: the profiles that `timeball login` has kept."""

from typing import Annotated

import typer

from timeball.cli.output import Column, show_list
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, Json
from timeball.client.profiles import Profiles, profiles_file, read_profiles, write_profiles

app = Commands("List, choose and delete profiles.")

Name = Annotated[str, typer.Argument(metavar="PROFILE", help="The name of a profile.")]


@app.add("list")
def list_profiles(context: typer.Context, *, json: Json = None) -> None:
    """List the profiles, without their keys."""
    surroundings = surroundings_of(context)
    profiles = read_profiles(profiles_file(surroundings.environment))
    rows = [
        {"name": name, "url": profile.url, "isDefault": name == profiles.default}
        for name, profile in sorted(profiles.profiles.items())
    ]
    show_list(
        surroundings, (Column("PROFILE", "name"), Column("URL", "url"), Column("DEFAULT", "isDefault")), rows, json
    )


@app.add("use")
def use_profile(context: typer.Context, name: Name) -> None:
    """Make a profile the default."""
    surroundings = surroundings_of(context)
    write_profiles(profiles_file(surroundings.environment), _with(surroundings, name).choose(name))


@app.add("delete")
def delete_profile(context: typer.Context, name: Name) -> None:
    """Forget a profile and its API key."""
    surroundings = surroundings_of(context)
    write_profiles(profiles_file(surroundings.environment), _with(surroundings, name).remove(name))


def _with(surroundings: Surroundings, name: str) -> Profiles:
    """Return the profiles, of which one must have this name."""
    profiles = read_profiles(profiles_file(surroundings.environment))
    if name not in profiles.profiles:
        raise CommandError(f"There is no profile {name}; `timeball profile list` lists them.", Status.NOT_FOUND)
    return profiles
