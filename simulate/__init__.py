"""Whatever asks a model: simulated users, assistants, raters, profile extraction, and the engine that runs them."""
