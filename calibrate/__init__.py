"""Whatever counts: frames in, estimates with honest intervals out. No network, no clock, no database."""
