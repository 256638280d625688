"""Rubrics: what a user owes its contract, rule by rule, each grounded in a verbatim piece of that contract."""
