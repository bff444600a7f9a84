"""The reference reasoner: SWI-Prolog through pyswip, complete and patient.

`translate` turns rules into Prolog clauses whose symbols live in a namespace of their own, `engine.pl` plays with them,
`worker` is a process with one Prolog in it (the only importer of pyswip), `reasoner` talks to that process.
"""

from __future__ import annotations

from ggp.prolog.reasoner import PrologReasoner

__all__ = ["PrologReasoner"]
