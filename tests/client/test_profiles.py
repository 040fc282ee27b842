"""Where a client finds its API: the environment, or the file that `timeball login` writes."""

import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from timeball.client import AsyncTimeball, ConfigurationError, Timeball
from timeball.client.profiles import Profile, Profiles, find_profile, profiles_file, read_profiles, write_profiles

ACME, GLOBEX = Profile("https://acme.example", "tb_acme_s3cret"), Profile("https://globex.example", 'tb_"\\ü\x7f\t')
BOTH = Profiles().put("acme", ACME).put('glo"bex\\ü', GLOBEX)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "new/folder/profiles.toml"
    write_profiles(file, BOTH)
    assert read_profiles(file) == BOTH
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    write_profiles(file, BOTH.remove("acme"))
    assert read_profiles(file) == BOTH.remove("acme")
    assert [path.name for path in file.parent.iterdir()] == ["profiles.toml"]


def test_a_file_that_all_may_read_is_closed_by_the_next_write(tmp_path: Path) -> None:
    file = tmp_path / "profiles.toml"
    file.write_text("")
    file.chmod(0o644)
    write_profiles(file, BOTH)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_there_is_a_default_as_long_as_there_is_a_profile() -> None:
    assert BOTH.named() == GLOBEX
    assert BOTH.choose("acme").named() == ACME
    assert BOTH.remove('glo"bex\\ü').named() == ACME
    assert BOTH.remove("acme").remove('glo"bex\\ü').default is None


@pytest.mark.parametrize(
    ("environ", "platform", "file"),
    [
        ({"HOME": "/home/ada"}, "linux", "/home/ada/.config/timeball/profiles.toml"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada"}, "linux", "/etc/ada/timeball/profiles.toml"),
        ({"HOME": "/Users/ada"}, "darwin", "/Users/ada/.config/timeball/profiles.toml"),
        ({"APPDATA": "/ada/Roaming"}, "win32", "/ada/Roaming/timeball/profiles.toml"),
    ],
)
def test_the_file_is_in_the_users_folder(environ: Mapping[str, str], platform: str, file: str) -> None:
    assert profiles_file(environ, platform) == Path(file)


@pytest.mark.parametrize(
    ("environ", "name", "found"),
    [
        ({"TIMEBALL_URL": "https://x.example", "TIMEBALL_KEY": "tb_x"}, None, Profile("https://x.example", "tb_x")),
        ({"TIMEBALL_URL": "https://x.example", "TIMEBALL_KEY": "tb_x"}, "acme", ACME),
        ({}, None, GLOBEX),
        ({}, "acme", ACME),
        ({"TIMEBALL_PROFILE": "acme"}, None, ACME),
    ],
)
def test_a_named_profile_wins_over_the_environment_and_that_over_the_default(
    tmp_path: Path, environ: Mapping[str, str], name: str | None, found: Profile
) -> None:
    write_profiles(tmp_path / "p.toml", BOTH)
    assert find_profile(environ, tmp_path / "p.toml", name) == found


@pytest.mark.parametrize(
    ("environ", "name", "text", "sentence"),
    [
        ({}, None, None, "Set TIMEBALL_URL and TIMEBALL_KEY, or run `timeball login` once."),
        ({"TIMEBALL_URL": "https://x.example"}, None, None, "TIMEBALL_URL is set and TIMEBALL_KEY is not"),
        ({"TIMEBALL_KEY": "tb_s3cret"}, None, None, "TIMEBALL_KEY is set and TIMEBALL_URL is not"),
        ({}, "globex", None, "There is no profile 'globex'"),
        ({}, None, 'key = "tb_s3cret', "cannot be read"),
        ({}, None, '[profiles.acme]\nkey = "tb_s3cret"\n', "cannot be read"),
        ({}, None, 'profiles = "tb_s3cret"\n', "cannot be read"),
    ],
)
def test_a_client_without_an_api_says_what_to_do(
    tmp_path: Path, environ: Mapping[str, str], name: str | None, text: str | None, sentence: str
) -> None:
    file = tmp_path / "profiles.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        find_profile(environ, file, name)
    assert sentence in str(refused.value)
    assert "s3cret" not in repr(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("name", ["", "two\nlines"])
def test_a_profile_has_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="one printable character"):
        Profiles().put(name, ACME)


def test_no_text_of_a_profile_has_its_key() -> None:
    assert "s3cret" not in repr(BOTH)


@pytest.mark.parametrize("kind", [Timeball, AsyncTimeball])
def test_a_client_without_arguments_is_of_the_environment_or_of_a_profile(
    kind: type[Timeball] | type[AsyncTimeball], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("APPDATA", raising=False)
    monkeypatch.setenv("TIMEBALL_URL", "https://env.example/")
    monkeypatch.setenv("TIMEBALL_KEY", "tb_env")
    assert kind().url == "https://env.example"
    monkeypatch.delenv("TIMEBALL_URL")
    monkeypatch.delenv("TIMEBALL_KEY")
    with pytest.raises(ConfigurationError):
        kind()
    write_profiles(profiles_file(), BOTH.choose("acme"))
    assert kind(profile="acme").url == ACME.url
    assert kind().url == ACME.url
