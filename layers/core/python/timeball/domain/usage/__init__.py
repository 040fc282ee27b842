"""The sums of a tenant's runs, computed from counts that add up."""
