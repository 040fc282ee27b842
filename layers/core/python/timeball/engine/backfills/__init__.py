"""Backfills move on."""
