"""How often native MPI is asked for its part of a collective."""

from __future__ import annotations

from mpi4py import MPI

from runtime.mpi.progress.operations import MOST_QUESTIONS, NOTIFIED, STEPS, NativeStep


class Counted(MPI.Request):
    """A request that counts how often native MPI was asked."""

    asked = 0

    def Test(self, status: MPI.Status | None = None) -> bool:
        self.asked += 1
        return super().Test(status)


def test_the_longer_it_goes_on_the_more_often_native_mpi_is_asked_at_once() -> None:
    request = Counted(MPI.COMM_SELF.Irecv(bytearray(1), 0, 7))
    woken: list[bool] = []
    step = NativeStep(request, "a step", urgency=NOTIFIED, wake=lambda: woken.append(True))
    asked = []
    for _ in range(7):
        before = request.asked
        assert not step.test()
        asked.append(request.asked - before)
    assert asked == [STEPS, 2 * STEPS, 4 * STEPS, 8 * STEPS, 16 * STEPS] + 2 * [MOST_QUESTIONS]
    sent = MPI.COMM_SELF.Isend(b"x", 0, 7)
    while not step.test():
        pass
    sent.Wait()
    asked_in_all = request.asked
    assert step.test()
    assert (request.asked - asked_in_all, woken) == (0, [True])
