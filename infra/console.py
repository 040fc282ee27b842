"""The console: a function that has its files and no rights, behind routes of the API without the authorizer.

So its files cost one function each, once for each browser, and a bound of their own keeps the requests of strangers
from those of the API.
"""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import emulated
from infra.acknowledged import acknowledge
from infra.api import Api
from infra.bundle import ROOT, bundled, compile_all
from infra.functions import FunctionBounds, FunctionMaker
from infra.settings import Settings
from infra.target import Target
from timeball.console.packing import pack

PAGES: Final = ROOT / "console"
_PACKAGE: Final = ROOT / "layers/core/python"
MODULES: Final = (
    *((ROOT, f"functions/{name}.py") for name in ("__init__", "console")),
    (_PACKAGE, "timeball/__init__.py"),
    *((_PACKAGE, f"timeball/console/{name}.py") for name in ("__init__", "packing", "serving")),
)
"""The code of the function, which imports nothing else that is ours."""

PATHS: Final = ("/console", "/console/{proxy+}")
METHODS: Final = (apigateway.HttpMethod.GET, apigateway.HttpMethod.HEAD)
RATE, BURST = 20, 200
"""The most requests a second, and at once: a browser that knows no file yet asks for some forty at once."""


class Console(Construct):
    """The function with the console's files, and its routes."""

    def __init__(self, scope: Construct, construct_id: str, maker: FunctionMaker, api: Api) -> None:
        super().__init__(scope, construct_id)
        function = replace(maker, code=console_code(maker.target), dependencies=None, environment={}).make(
            self,
            "console",
            "console",
            about="Serves the files of the console",
            bounds=FunctionBounds(
                Duration.seconds(5),
                memory_mb=256,
                why="It finds a file of some kilobytes in memory; more memory would only start it sooner",
            ),
        )
        integration = integrations.HttpLambdaIntegration("ConsoleIntegration", function)
        self._routes = [
            route
            for path in PATHS
            for route in api.http.add_routes(path=path, methods=[*METHODS], integration=integration)
        ]
        for route in self._routes:
            acknowledge(
                route, "APIG4", "Anyone may read the console's files, which hold no data; its requests have keys"
            )

        self._bound(api.stage)

    def _bound(self, stage: apigateway.CfnStage) -> None:
        """Bound the requests for files by themselves, in the stage of the API."""
        bounds = {"ThrottlingRateLimit": RATE, "ThrottlingBurstLimit": BURST}
        stage.route_settings = {f"{method.value} {path}": bounds for path in PATHS for method in METHODS}
        for route in self._routes:  # a stage cannot name a route that does not exist yet
            stage.node.add_dependency(route)


def console_url(settings: Settings, api: Api) -> str:
    """Return the address of the console, below that of the API."""
    url = emulated.url_of(Stack.of(api), api.http.api_id) if settings.is_local else api.url
    return f"{url}{PATHS[0]}"


def console_code(target: Target) -> lambda_.AssetCode:
    """Return the asset of the function: its modules, and the packed files."""
    return bundled(PAGES, target, lambda folder: copy_console(target, folder), _made_from())


def copy_console(target: Target, folder: Path) -> None:
    """Write the function's folder."""
    for root, path in MODULES:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, folder / path)
    compile_all(folder, target, "/var/task")
    (folder / "console.json").write_text(pack(PAGES))


def _made_from() -> Iterator[bytes]:
    for root, path in MODULES:
        yield path.encode()
        yield (root / path).read_bytes()
    yield pack(PAGES).encode()
