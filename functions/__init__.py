"""The Lambda functions, one module each; `api` is a package. Deployed they have the same names as here."""
