"""The program that `cdk` runs: settings from the context, one stack, and the checks that its template must pass."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from infra.settings import Settings
from infra.stack import TimeballStack
from timeball.setting import SettingsError, unsupported


def synthesize(context: Mapping[str, object] | None = None, output: Path | None = None) -> str:
    """Synthesize the stack for a context, and return the folder of the assembly.

    The context and the folder default to those of the CDK's command line.
    """
    app = App(context=context, outdir=str(output) if output else None)
    settings = Settings.read(app.node.get_all_context())
    # The embedded AWS lives for an hour on the loopback interface; the checks are for accounts.
    if not settings.is_local:
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    TimeballStack(app, settings)
    return app.synth().directory


def refuse_other_partitions(environment: Mapping[str, str]) -> None:
    """Raise SettingsError if the CDK's command line is about to deploy to a region that Timeball does not support."""
    if sentence := unsupported(environment.get("CDK_DEFAULT_REGION", "")):
        raise SettingsError(sentence)


if __name__ == "__main__":
    try:
        refuse_other_partitions(os.environ)
        synthesize()
    except SettingsError as error:
        sys.exit(str(error))
