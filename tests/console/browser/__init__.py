"""Tests in a real browser. A package, so that the browser is closed after its last test."""
