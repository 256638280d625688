"""How hard the simulated user is to tell from the person: Turing test, Likert scores and their differences."""
