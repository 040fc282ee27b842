"""`timeball login`: keep a URL and an API key as a profile, after the API has accepted them."""

import getpass
from typing import Annotated

import typer

from timeball.cli.account.whoami import show_caller
from timeball.cli.connection import connect_to
from timeball.cli.status import CommandError
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, Json
from timeball.client.profiles import Profile, profiles_file, read_profiles, write_profiles

app = Commands("Keep a URL and an API key as a profile.")


@app.add()
def login(
    context: typer.Context,
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="Of the API: the output ApiUrl of the deployment.")
    ] = None,
    *,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The name of the profile.")] = "default",
    json: Json = None,
) -> None:
    """Keep a URL and an API key as a profile, which is the default from then on.

    The key is asked for, or read from the standard input; it is no argument, because other users of the machine see
    these. The file with the profiles is readable by you alone.
    """
    surroundings = surroundings_of(context)
    profile = Profile(url or _asked_url(surroundings), _asked_key(surroundings))
    caller = connect_to(surroundings, profile).request("GET", "/v1/me")
    file = profiles_file(surroundings.environment)
    try:
        write_profiles(file, read_profiles(file).put(surroundings.profile or name, profile))
    except ValueError as bad:
        raise CommandError(f"--name: {bad}") from None
    except OSError as bad:
        raise CommandError(f"{file} cannot be written: {bad.strerror}.") from None
    show_caller(surroundings, caller, json)


def _asked_url(surroundings: Surroundings) -> str:
    if not surroundings.can_ask:
        raise CommandError("Give the URL: timeball login URL, with the key on the standard input.")
    surroundings.stderr.write("URL of the API: ")
    surroundings.stderr.flush()
    return surroundings.stdin.readline().strip()


def _asked_key(surroundings: Surroundings) -> str:
    if surroundings.can_ask:
        key = getpass.getpass("API key (it is not shown): ", surroundings.stderr)
    else:
        key = surroundings.stdin.readline()
    if not key.strip():
        raise CommandError("There is no key on the standard input.")
    return key.strip()
