"""Strategies that play matches: each is a `ggp.match.Strategy`."""
