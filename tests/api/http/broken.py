"""An API whose store fails."""

from dataclasses import fields, replace
from typing import Any, NoReturn

from tests.api.client import Api
from timeball.api.app import build_api
from timeball.ports.store import Store
from timeball.ports.tenants import Tenants


class _Broken:
    """A collection that raises on every call."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def broken(*_: object, **__: object) -> NoReturn:
            raise self._error

        return broken


def broken_api(error: Exception) -> Api:
    api = Api()
    broken: Any = _Broken(error)
    store = Store(*(broken for _ in fields(Store)))
    context, tenants = replace(api.context, store=store), Tenants(broken, broken, broken)
    api.handle = build_api(replace(api.edge, context=context, tenants=tenants))
    return api
