"""Front-ends pass bytes on between those who cannot reach each other, and never look into them.

Who wants to reach a process connects to a front-end, proves to be a member of the run, and says
which stops come next. The front-end opens the way, answers, and from then on joins the two
connections byte by byte, in both directions, as the bytes come. What travels is between the two
ends alone: they prove themselves to each other once more, through all that lies between.
"""

from runtime.forwarding.forwarder import Forwarder
from runtime.forwarding.leading import lead_on
from runtime.forwarding.splice import Splice
from runtime.forwarding.words import (
    LINK,
    Answer,
    AnswerReader,
    ForwardRequest,
    RequestReader,
    meeting,
)

__all__ = [
    "LINK",
    "Answer",
    "AnswerReader",
    "ForwardRequest",
    "Forwarder",
    "RequestReader",
    "Splice",
    "lead_on",
    "meeting",
]
