"""How much to collect: sample sizes, how an audit is shared out, and the power of the tests that a study rests on."""
