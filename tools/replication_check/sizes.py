"""The small runs that are explored."""

from __future__ import annotations

from runtime.replicas import ReplicationLimits
from tools.replication_check.space import Size

_AT_ONCE = ReplicationLimits(batch=1)
_ROOM_FOR_ONE = ReplicationLimits(kept_bytes=400, decisions=2)

SIZES = {
    size.name: size
    for size in (
        Size(
            "one message",
            ((("send", 1, 0),), (("receive", 0, 0),)),
            (3, 2),
            1,
        ),
        Size(
            "there and back",
            (
                (("send", 1, 0), ("receive", 1, 0)),
                (("receive", 0, 0), ("send", 0, 0)),
            ),
            (2, 2),
            1,
            _AT_ONCE,
        ),
        Size(
            "two tags in the order of the program",
            (
                (("send", 1, 1), ("send", 1, 0)),
                (("receive", 0, None), ("receive", 0, None)),
            ),
            (2, 2),
            1,
            _AT_ONCE,
        ),
        Size(
            "from any of two",
            (
                (("any", 0), ("any", 0), ("send", 1, 1)),
                (("send", 0, 0), ("receive", 0, 1)),
                (("send", 0, 0),),
            ),
            (2, 1, 1),
            1,
        ),
        Size(
            "a test before an answer",
            (
                (("test", 1, 0), ("send", 1, 1)),
                (("send", 0, 0), ("receive", 0, 1)),
            ),
            (3, 1),
            2,
            is_quick=False,
        ),
        Size(
            "one message, two deaths",
            ((("send", 1, 0),), (("receive", 0, 0),)),
            (3, 2),
            2,
            is_quick=False,
        ),
        Size(
            "there and back, two deaths",
            (
                (("send", 1, 0), ("receive", 1, 0)),
                (("receive", 0, 0), ("send", 0, 0)),
            ),
            (2, 2),
            2,
            is_quick=False,
        ),
        Size(
            "room for one message",
            (
                (("send", 1, 0), ("send", 1, 1), ("send", 1, 0), ("receive", 1, 0)),
                (("receive", 0, 0), ("receive", 0, 1), ("receive", 0, 0), ("send", 0, 0)),
            ),
            (2, 1),
            1,
            _ROOM_FOR_ONE,
        ),
        Size(
            "one joins a single one",
            (
                (("send", 1, 0), ("join", (1, 0)), ("send", 1, 0), ("receive", 1, 0)),
                (("receive", 0, 0), ("join", (1, 0)), ("receive", 0, 0), ("send", 0, 0)),
            ),
            (2, 1),
            1,
            newcomers=(1, 0),
        ),
        Size(
            "one joins two",
            (
                (("send", 1, 0), ("join", (2, 0)), ("send", 1, 0), ("receive", 1, 0)),
                (("receive", 0, 0), ("join", (2, 0)), ("receive", 0, 0), ("send", 0, 0)),
            ),
            (3, 1),
            2,
            is_quick=False,
            newcomers=(1, 0),
        ),
        Size(
            "one joins after the other",
            (
                (
                    ("send", 1, 0),
                    ("join", (1, 0)),
                    ("send", 1, 0),
                    ("join", (2, 0)),
                    ("send", 1, 0),
                    ("receive", 1, 0),
                ),
                (
                    ("receive", 0, 0),
                    ("join", (1, 0)),
                    ("receive", 0, 0),
                    ("join", (2, 0)),
                    ("receive", 0, 0),
                    ("send", 0, 0),
                ),
            ),
            (3, 1),
            2,
            _AT_ONCE,
            is_quick=False,
            newcomers=(2, 0),
        ),
        Size(
            "one joins in each rank",
            (
                (("send", 1, 0), ("join", (1, 0), (3, 1)), ("send", 1, 0), ("receive", 1, 0)),
                (("receive", 0, 0), ("join", (1, 0), (3, 1)), ("receive", 0, 0), ("send", 0, 0)),
            ),
            (2, 2),
            2,
            _AT_ONCE,
            is_quick=False,
            newcomers=(1, 1),
        ),
        Size(
            "one joins the receivers",
            (
                (("send", 1, 0), ("join", (3, 1)), ("send", 1, 0)),
                (("receive", 0, 0), ("join", (3, 1)), ("receive", 0, 0)),
            ),
            (2, 2),
            2,
            is_quick=False,
            newcomers=(0, 1),
        ),
        Size(
            "one joins when it can",
            (
                (
                    ("choose", (1, 0)),
                    ("send", 1, 0),
                    ("join",),
                    ("send", 1, 0),
                    ("receive", 1, 0),
                ),
                (("receive", 0, 0), ("join",), ("receive", 0, 0), ("send", 0, 0)),
            ),
            (2, 1),
            1,
            newcomers=(1, 0),
        ),
        Size(
            "one joins each rank when it can",
            (
                (
                    ("choose", (1, 0), (3, 1)),
                    ("send", 1, 0),
                    ("join",),
                    ("send", 1, 0),
                    ("receive", 1, 0),
                ),
                (("receive", 0, 0), ("join",), ("receive", 0, 0), ("send", 0, 0)),
            ),
            (2, 2),
            2,
            _AT_ONCE,
            is_quick=False,
            newcomers=(1, 1),
        ),
        Size(
            "one joins two when it can",
            (
                (
                    ("choose", (2, 0)),
                    ("send", 1, 0),
                    ("join",),
                    ("send", 1, 0),
                ),
                (("receive", 0, 0), ("join",), ("receive", 0, 0)),
            ),
            (3, 1),
            2,
            _AT_ONCE,
            is_quick=False,
            newcomers=(1, 0),
        ),
        Size(
            "one joins, then a test",
            (
                (("test", 1, 0), ("join", (2, 0)), ("test", 1, 1), ("send", 1, 1)),
                (("join", (2, 0)), ("send", 0, 1), ("receive", 0, 1)),
            ),
            (3, 1),
            2,
            is_quick=False,
            newcomers=(1, 0),
        ),
    )
}
