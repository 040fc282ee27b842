"""The targets that a tenant may have: the resources and tenants of each entry; an executor checks them at each call."""

import asyncio

import pytest

from tests.targets.calls import NOW, OF, a_call
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.values import Failed
from timeball.domain.model.terms.target import AwsTarget, EcsTarget, LambdaTarget, SqsTarget
from timeball.ports.target import Answer
from timeball.targets.aws.allowed import AllowedArns, parse_arns
from timeball.targets.aws.caller import aws_caller
from timeball.testing.virtual_clock import VirtualClock

QUEUE, FUNCTION = f"arn:aws:sqs:{OF}:jobs", f"arn:aws:lambda:{OF}:function:reports"
CLUSTER, TASK = f"arn:aws:ecs:{OF}:cluster/nightly", f"arn:aws:ecs:{OF}:task-definition/t"
SUBNET, GROUP = f"arn:aws:ec2:{OF}:subnet/", f"arn:aws:ec2:{OF}:security-group/"
ECS = f"{CLUSTER},{TASK}"


def ecs(*subnets: str, groups: tuple[str, ...] = ()) -> EcsTarget:
    return EcsTarget(CLUSTER, TASK, "main", subnets=subnets, security_groups=groups)


@pytest.mark.parametrize(
    ("listed", "target", "tenant", "closed"),
    [
        # An entry without tenants applies to all of them.
        (QUEUE, SqsTarget(QUEUE), "acme", []),
        (f"{QUEUE}=acme", SqsTarget(QUEUE), "acme", []),
        (f"{QUEUE}=acme", SqsTarget(QUEUE), "globex", ["queueArn"]),
        (f"{QUEUE}=acme+globex", SqsTarget(QUEUE), "globex", []),
        # A tenant's name must match as a whole.
        (f"{QUEUE}=acme-b", SqsTarget(QUEUE), "acme", ["queueArn"]),
        (f"{QUEUE}=acme", SqsTarget(QUEUE), "acme-b", ["queueArn"]),
        # Any entry that covers the target suffices.
        (f"{QUEUE}=acme,arn:aws:sqs:{OF}:*=globex", SqsTarget(QUEUE), "globex", []),
        (f"{FUNCTION}=acme,{QUEUE}", LambdaTarget(FUNCTION), "globex", ["functionArn"]),
        # A task of ECS needs its cluster and its definition.
        (f"{CLUSTER}=acme,{TASK}", ecs(), "globex", ["clusterArn"]),
        (f"{CLUSTER},{TASK}=acme", ecs(), "globex", ["taskDefinitionArn"]),
        # A target with a network needs an entry for every subnet and every security group.
        (ECS, ecs("subnet-1", groups=("sg-1",)), "acme", ["subnets", "securityGroups"]),
        (f"{ECS},{SUBNET}subnet-1,{GROUP}sg-1", ecs("subnet-1", groups=("sg-1",)), "acme", []),
        (f"{ECS},{SUBNET}subnet-1,{GROUP}*", ecs("subnet-1", "subnet-2", groups=("sg-1",)), "acme", ["subnets"]),
        (f"{ECS},{SUBNET}*,{GROUP}sg-1", ecs("subnet-1", groups=("sg-1", "sg-2")), "acme", ["securityGroups"]),
        (f"{ECS},{SUBNET}*=acme,{GROUP}*", ecs("subnet-1", groups=("sg-1",)), "globex", ["subnets"]),
        # Without a group it has the default group of its network, which is an entry like any other.
        (f"{ECS},{SUBNET}*,{GROUP}sg-1", ecs("subnet-1"), "acme", ["securityGroups"]),
        (f"{ECS},{SUBNET}*,{GROUP}default", ecs("subnet-1"), "acme", []),
    ],
)
def test_a_tenant_may_have_what_an_entry_names_for_it(
    listed: str, target: AwsTarget, tenant: str, closed: list[str]
) -> None:
    assert parse_arns(listed).closed(target, tenant) == closed


@pytest.mark.parametrize("tenants", ["", "a b", "acme+", "acme+a_b", "*", "acme=globex"])
def test_an_entry_with_an_empty_list_of_tenants_is_refused(tenants: str) -> None:
    # An empty list after the sign could mean every tenant, or none.
    with pytest.raises(ValueError, match="=acme"):
        parse_arns(f"{QUEUE}={tenants}")


def test_a_role_may_have_an_equals_sign_in_its_name() -> None:
    role = "arn:aws:iam::123456789012:role/team=a"
    assert parse_arns(role).arns == (role,)


def called(allowed: AllowedArns, tenant: str) -> tuple[Answer, list[str]]:
    """Call a queue for a tenant with these allowed ARNs; return the answer and the requests to AWS."""
    asked: list[str] = []

    class Queues:
        def send_message(self, **arguments: object) -> dict[str, str]:
            asked.append(str(arguments["QueueUrl"]))
            return {"MessageId": "m-1"}

    async def main() -> Answer:
        async with aws_caller(VirtualClock(NOW), connect=lambda *_: Queues(), allowed=allowed) as caller:
            return await caller.call(a_call(SqsTarget(QUEUE), run=RunId(JobKey(tenant, "j"), NOW, Origin.SCHEDULE)))

    return asyncio.run(main()), asked


def test_an_executor_calls_nothing_for_a_tenant_that_the_list_no_longer_names() -> None:
    # The job was made when the list was longer, and IAM knows executors, not tenants.
    answer, asked = called(parse_arns(f"{QUEUE}=acme"), "globex")
    assert (answer.verdict, answer.called_at, asked) == (Failed(may_retry=False), None, [])
    assert "timeball:targets" in (answer.error or "")
    answer, asked = called(parse_arns(f"{QUEUE}=acme"), "acme")
    assert (answer.error, len(asked)) == (None, 1)


def test_an_executor_never_calls_timeballs_own_resources() -> None:
    answer, asked = called(parse_arns(QUEUE, "jobs"), "acme")
    assert (answer.verdict, asked) == (Failed(may_retry=False), [])
