"""Who owns jobs and who may do what: tenants, their keys, roles and quotas, and who asks."""
