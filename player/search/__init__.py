"""Search: walkers over a game and what each algorithm believes of those who play it."""
