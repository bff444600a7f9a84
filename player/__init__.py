"""The player: strategies, matches on the wire, and the command line that joins the packages."""
