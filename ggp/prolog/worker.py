"""A process with one Prolog in it: reads requests from standard input, writes answers to standard output.

Run as a file, not as a module, so that it imports nothing but pyswip. Frames are eight bytes of length, then UTF-8: a
request is a Prolog term that we wrote ourselves, an answer begins with `ok ` or with the kind of the error.
"""

from __future__ import annotations

import os
import resource
import signal
import struct
import sys
import threading
import time
from pathlib import Path

SLACK = 1 << 30  # address space of Python, Prolog and their libraries


def main(memory_limit: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the parent, which closes us
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_limit + SLACK, memory_limit + SLACK))
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever Prolog prints must not end up between the frames
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    try:
        from pyswip import Prolog
        from pyswip.prolog import PrologError
    except Exception as error:  # pyswip raises ImportError or RuntimeError, by what exactly is missing
        _write(replies, f"missing {error}")
        return
    engine = Path(__file__).with_name("engine.pl").as_posix().replace("'", "\\'")
    _ask(Prolog, f"set_prolog_flag(stack_limit,{memory_limit}),set_prolog_flag(table_space,{memory_limit})")
    _ask(Prolog, f"load_files('{engine}',[silent(true)])")
    _write(replies, "ok ready")
    while request := _read():
        try:
            answer = _ask(Prolog, f"engine:answer({request},Reply)")
            reply = f"ok {answer['Reply'].decode()}" if answer else f"error no answer to {request[:80]}"
        except PrologError as error:
            reply = f"error {error}"
        except MemoryError:
            reply = "error resource_error"
        _write(replies, reply)


def _ask(prolog: type, goal: str) -> dict[str, bytes]:
    """The one answer; {} where the goal fails."""
    return next(iter(list(prolog.query(goal, maxresult=1))), {})  # type: ignore[attr-defined]


def _read() -> str:
    head = sys.stdin.buffer.read(8)
    return sys.stdin.buffer.read(struct.unpack("<Q", head)[0]).decode() if len(head) == 8 else ""


def _write(stream: object, text: str) -> None:
    body = text.encode()
    stream.write(struct.pack("<Q", len(body)) + body)  # type: ignore[attr-defined]
    stream.flush()  # type: ignore[attr-defined]


def _die_with(parent: int) -> None:
    """Ends this process, whatever Prolog is doing, when the parent is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
