"""Serves, measures or forwards one way to talk; figures are JSON, one on each line."""

from __future__ import annotations

import json
import sys

from benchmarks.echoes.contract import one_way, way


def main() -> None:
    """Serve until killed, or measure."""
    if sys.argv[1] == "forward":
        from benchmarks.echoes.ours import forward

        forward(*sys.argv[2:])
        return
    what, name, host, port, *more = sys.argv[1:]
    if what == "serve":
        way(name).serve(name, host, int(port))
        return
    with way(name).client(name, host, int(port)) as rounds:
        for size in map(int, more[0].split(",")):
            taken = one_way(rounds, size, float(more[1]))
            print(json.dumps({"what": name, "size": size, "seconds": taken}), flush=True)


if __name__ == "__main__":
    main()
