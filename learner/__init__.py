"""The learner: from simulated games to a ranking of an opponent's moves."""
