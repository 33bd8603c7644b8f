"""The value of --profile: a name, or a TOML file."""

import tomllib

import click

from ..contract.profile import PROFILES, Profile, ProfileError, read_profile
from ..errors import InvalidArgumentsError
from .inputs import read_named


class ProfileType(click.ParamType[Profile]):
    """A dialect that is declared."""

    name = "NAME|FILE.toml"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> Profile:
        """The profile of this name, or the one in the file.

        Raises:
            FileError: the file can't be read.
            InvalidArgumentsError: there is no such profile, or the file is not in form.
        """
        if isinstance(value, Profile):
            return value
        name = str(value)
        if name in PROFILES:
            return PROFILES[name]
        if not name.endswith(".toml"):
            raise InvalidArgumentsError(
                f"There is no profile {name}.", f"There are {', '.join(PROFILES)}, and FILE.toml."
            )
        try:
            return read_profile(name, tomllib.loads(read_named(name).decode()))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, ProfileError) as error:
            raise InvalidArgumentsError(f"{name}: {error}") from None
