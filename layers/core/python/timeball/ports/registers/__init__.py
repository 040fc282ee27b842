"""What is kept that is no row of a tenant's: what is due, who owns it, who depends on whom, how much was asked for."""
