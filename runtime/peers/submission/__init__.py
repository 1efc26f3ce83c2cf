"""Running a program on peers: places are booked, become a machine, and get what they need."""

from runtime.peers.submission.booking import Booking, NotEnoughPlaces
from runtime.peers.submission.examination import LabExamination, examine_lab
from runtime.peers.submission.lab import FAR, Lab
from runtime.peers.submission.launching import launcher_on
from runtime.peers.submission.programs import StagedPrograms
from runtime.peers.submission.sites import sites_of
from runtime.peers.submission.steps import Steps, StepState, SubmissionStep
from runtime.peers.submission.ways import PeerWays, ways_between
from runtime.peers.submission.web_contents import WebContents, web_addresses

__all__ = [
    "FAR",
    "Booking",
    "Lab",
    "LabExamination",
    "NotEnoughPlaces",
    "PeerWays",
    "StagedPrograms",
    "StepState",
    "Steps",
    "SubmissionStep",
    "WebContents",
    "examine_lab",
    "launcher_on",
    "sites_of",
    "ways_between",
    "web_addresses",
]
