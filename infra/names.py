"""Names in settings. A wrong name raises ValueError, whose text continues the setting's name and value."""

import re


def stack_name(text: str) -> str:
    """Return the name of a stack."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,39}", text):
        raise ValueError("must begin with a letter, followed by at most 39 letters, digits and hyphens")
    return text


def table_name(text: str) -> str:
    """Return the name of a table, or an empty string."""
    if text and not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", text):
        raise ValueError("must be the name of a table that exists, or empty")
    return text


def key_arn(text: str) -> str:
    """Return the ARN of a key, or an empty string."""
    if text and not re.fullmatch(r"arn:aws(-cn|-us-gov)?:kms:[a-z0-9-]+:\d{12}:key/[0-9a-z-]{1,64}", text, re.ASCII):
        raise ValueError(
            "must be the ARN of a key (not its id, and no alias), such as "
            "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab, or empty"
        )
    return text
