"""Whether a deployment may follow the one before: a forgotten setting must stop no job.

`cdk deploy` without the stage of before would turn one Timeball into another. What a table keeps of its deployment
decides: a change of the stage or of the shards must be confirmed by name, and two changes cannot be undone by any.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

FEWEST_POLLERS = 6
"""Two of each priority."""


@dataclass(frozen=True)
class Deployment:
    """What the jobs table keeps of a deployment.

    Jobs keep their shard, and their place among `list_shards`; mappings keep that they have `pollers`.
    """

    stage: str
    shards: int
    list_shards: int
    pollers: int

    @property
    def name(self) -> str:
        """Return what confirms a move to this deployment, as in `small-4`."""
        return f"{self.stage}-{self.shards}"

    @classmethod
    def read(cls, texts: Mapping[str, object]) -> "Deployment":
        """Return a deployment as a row or a template says it, in which numbers may be texts."""
        values = {one.name: texts[one.name] for one in fields(cls)}
        return cls(str(values.pop("stage")), **{name: int(str(value)) for name, value in values.items()})


def refusal(kept: Deployment | None, used_shards: int, asked: Deployment, confirmed: str) -> str | None:
    """Return why a deployment must not follow the one that the table keeps, and what to do; None: it may.

    `used_shards` is the least number of shards that the table's own rows show; it counts where nothing is kept yet.
    """
    found = [_unconfirmed(kept, used_shards, asked, confirmed)]
    if kept is not None:
        found += [_unlisted(kept, asked), _polled(kept, asked)]
    sentences = [sentence for sentence in found if sentence]
    return " ".join(["Nothing was changed.", *sentences]) if sentences else None


def too_few_at_once(limit: int, needed: int) -> str | None:
    """Return why an account that may run so many functions at once is too small; None: it is not."""
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
