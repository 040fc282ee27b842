"""The OpenAPI 3.1 document. `python -m timeball.api.openapi` writes it to docs/openapi.json."""
