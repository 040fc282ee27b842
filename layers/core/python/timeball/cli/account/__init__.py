"""Commands about whose Timeball it is: profiles, keys, tenants, secrets."""
