"""The Lambda functions, one module each; `api` is a package. The deployed modules have the same names."""
