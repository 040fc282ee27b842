"""The OpenAPI 3.1 document. `python -m functions.api.openapi` writes it to docs/openapi.json."""
