"""Fidelity of user proxies: does a simulated user keep its contract, and which proxy is the cheapest that does."""
