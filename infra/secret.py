"""The only way to make a secret in Secrets Manager. AWS generates it; a template never contains one."""

from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.encryption import encrypt
from infra.settings import Settings
from infra.storage import kept


def make_secret(scope: Construct, construct_id: str, settings: Settings, *, about: str, unrotated: str) -> str:
    """Make a secret of 64 letters and digits, and return its ARN; `unrotated` states why AWS does not rotate it."""
    secret = secretsmanager.Secret(
        scope,
        construct_id,
        description=about,
        generate_secret_string=secretsmanager.SecretStringGenerator(password_length=64, exclude_punctuation=True),
        removal_policy=kept(settings),
    )
    acknowledge(secret, "SMG4", unrotated)
    definition = secret.node.default_child
    if not isinstance(definition, secretsmanager.CfnSecret):
        raise TypeError("a secret is no longer a CfnSecret")
    encrypt(secret, settings)
    return definition.attr_id  # its ARN; so is `Ref` on AWS, but the embedded AWS returns the name there
