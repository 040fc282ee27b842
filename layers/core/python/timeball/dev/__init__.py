"""Timeball on one machine: an embedded AWS, the deployment, ticks, a tenant and a key."""
