"""Statistics as pure functions on arrays: each gives a number, or `Undefined` with the reason."""
