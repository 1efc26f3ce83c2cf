"""Failure detection without sockets, clocks and threads: time is handed in, effects come out.

`Detector` is one member of a group that watches itself; `HierarchicalDetector` is a member of a
group inside a group of groups. Both are driven in the same way:

    detector = Detector(["a", "b"], "a", DetectorSettings(), now=clock())
    at detector.next_time:    for effect in detector.advance(now): ...
    when a message comes:     for effect in detector.receive(message, now): ...
    when the system says so:  for effect in detector.gone("b", "exit code 1", now): ...
"""
