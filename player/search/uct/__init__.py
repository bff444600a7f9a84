"""UCT: Monte-Carlo tree search over batches of descents."""

from player.search.uct.tree import Choice, Odds, Tree, warm_up

__all__ = ["Choice", "Odds", "Tree", "warm_up"]
