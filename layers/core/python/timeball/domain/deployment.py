"""Whether a deployment may follow the previous one: a forgotten setting must not stop jobs.

`cdk deploy` without the previous stage would turn one Timeball into another. The jobs table stores its deployment and
so decides: a change of the stage or of the shards must be confirmed by name, and two other changes are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

FEWEST_POLLERS = 6
"""Two of each priority."""


@dataclass(frozen=True)
class Deployment:
    """The facts about a deployment that the jobs table stores."""

    stage: str
    """The name of the stage, such as `small`."""
    shards: int
    """How many due shards there are. A job keeps its shard."""
    list_shards: int
    """How many shards the listing has. A job keeps its position among them."""
    pollers: int
    """How many provisioned pollers there are; 0: none. A mapping that has pollers keeps them."""

    @property
    def name(self) -> str:
        """The text that confirms a change to this deployment, such as `small-4`."""
        return f"{self.stage}-{self.shards}"

    @classmethod
    def read(cls, texts: Mapping[str, object]) -> "Deployment":
        """Return a deployment from the texts of a row or a template, in which numbers may be texts."""
        values = {one.name: texts[one.name] for one in fields(cls)}
        return cls(str(values.pop("stage")), **{name: int(str(value)) for name, value in values.items()})


def refusal(kept: Deployment | None, used_shards: int, asked: Deployment, confirmed: str) -> str | None:
    """Return why a deployment must not follow the stored one, and what to do; None: it may.

    `used_shards` is the least number of shards that the table's rows show; it counts if no deployment is stored yet.
    """
    found = [_unconfirmed(kept, used_shards, asked, confirmed)]
    if kept is not None:
        found += [_unlisted(kept, asked), _polled(kept, asked)]
    sentences = [sentence for sentence in found if sentence]
    return " ".join(["Nothing was changed.", *sentences]) if sentences else None


def too_few_at_once(limit: int, needed: int) -> str | None:
    """Return why an account with this limit of concurrent functions is too small; None: it is large enough."""
    if needed <= limit:
        return None
    return (
        f"Nothing was changed. This account may run {limit} functions at once, and this Timeball might run {needed}: "
        f"the scan would wait, and jobs would be late. Ask AWS for more, which costs nothing (quota L-B99A9384 of "
        f"Lambda), or deploy with -c timeball:account_concurrency={limit} and a smaller timeball:execute_concurrency."
    )


def _unconfirmed(kept: Deployment | None, used_shards: int, asked: Deployment, confirmed: str) -> str | None:
    if confirmed == asked.name or (kept is not None and kept.name == asked.name):
        return None
    if kept is None and used_shards <= asked.shards:
        return None
    before = f"stage {kept.stage} with {kept.shards} shards" if kept else f"a stage with {used_shards} shards or more"
    stay = f"-c timeball:stage={kept.stage} -c timeball:shards={kept.shards}" if kept else "-c timeball:stage=large"
    return (
        f"This Timeball was deployed as {before}, and this deployment would make it {asked.stage} with {asked.shards}. "
        f"If that is not meant, deploy with {stay}, or write this into cdk.json; "
        f"if it is meant, deploy with -c timeball:confirm={asked.name}."
    )


def _unlisted(kept: Deployment, asked: Deployment) -> str | None:
    if asked.list_shards >= kept.list_shards:
        return None
    return (
        f"With fewer than {kept.list_shards} list shards, jobs that exist would not be listed: "
        f"deploy with -c timeball:list_shards={kept.list_shards}."
    )


def _polled(kept: Deployment, asked: Deployment) -> str | None:
    if not kept.pollers or asked.pollers:
        return None
    return (
        "AWS documents no way to take provisioned pollers from a mapping: "
        f"deploy with -c timeball:pollers={FEWEST_POLLERS}, or make a new Timeball by another -c timeball:name."
    )
