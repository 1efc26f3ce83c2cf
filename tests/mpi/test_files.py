"""Files of several clusters: where they are, what ranks read and write, and what goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


@on("2+1")
def test_all_ranks_write_to_one_file_at_the_home_by_views(
    shared: SharedGrid, tmp_path: Path
) -> None:
    path = tmp_path / "data"
    said = shared(
        f"""
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        me, size = world.rank, world.size
        file = MPI.File.Open(world, {str(path)!r}, MPI.MODE_RDWR | MPI.MODE_CREATE)
        mine = MPI.INT.Create_vector(4, 1, size).Create_resized(0, 4 * size * 4).Commit()
        file.Set_view(4 * me, MPI.INT, mine)
        file.Write_all(array("i", [100 * me + at for at in range(8)]))
        world.Barrier()
        status = MPI.Status()
        found = array("i", [-1] * 9)
        file.Read_at_all(2, found, status)
        print(list(found), status.Get_count(MPI.INT))
        print(file.Get_byte_offset(5), file.Get_position(), file.size, file.group_size)
        file.Set_view(0, MPI.INT)
        file.Read_at(0, found)
        print(list(found))
        print(file.info.Get("gcm_home"), file.amode == MPI.MODE_RDWR | MPI.MODE_CREATE)
        file.Close()
        print(file == MPI.FILE_NULL)
        """
    )
    values = [100 * rank + at for at in range(8) for rank in range(3)]
    assert list(memoryview(path.read_bytes()).cast("i")) == values
    for rank in range(3):
        left = [100 * rank + at for at in range(2, 8)]
        assert said[rank] == [
            f"{left + [-1] * 3} 6",
            f"{4 * rank + 60} 8 96 3",
            str(values[:9]),
            "site0/cluster0 True",
            "True",
        ]


@on("1+1")
def test_pointers_split_collectives_requests_and_atomic_accesses(
    shared: SharedGrid, tmp_path: Path
) -> None:
    path = tmp_path / "data"
    said = shared(
        f"""
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        me = world.rank
        file = MPI.File.Open(world, {str(path)!r}, MPI.MODE_RDWR | MPI.MODE_CREATE)
        file.Write_ordered(bytes([65 + me]) * (me + 1))
        file.Iwrite_shared(b"x").Wait()
        file.Sync()
        world.Barrier()
        print(file.Get_position_shared(), file.Get_size())
        found = bytearray(3)
        file.Seek_shared(-5, MPI.SEEK_END)
        file.Read_ordered_begin(found[:])
        try:
            file.Read_all_begin(bytearray(1))
        except MPI.Exception as error:
            print(*error.__notes__)
        file.Read_ordered_end(found)
        file.Seek(1)
        file.Read(memoryview(found)[:2])
        print(bytes(found[:2]), file.Get_position())
        file.Set_atomicity(True)
        much = bytes([48 + me]) * 3_000_000
        requests = [file.Iwrite_at(10 * each, much) for each in range(2)]
        requests.append(file.Iwrite_at(20, bytes(20_000_000)))
        requests += [file.Iwrite_at(20, b"brief") for each in range(1200)]
        requests += [file.Iwrite_at(10 * each, much) for each in range(2)]
        MPI.Request.Waitall(requests)
        world.Barrier()
        whole = bytearray(3_000_010)
        file.Read_at_all(0, whole)
        print(len(set(whole[10:3_000_000])), file.atomicity)
        file.Set_atomicity(False)
        file.Set_size(5)
        file.Preallocate(7)
        print(file.size)
        file.Close()
        again = MPI.File.Open(world, {str(path)!r}, MPI.MODE_WRONLY | MPI.MODE_APPEND)
        print(again.Get_position(), again.Get_position_shared())
        again.Close()
        gone = MPI.File.Open(
            world, {str(path)!r}, MPI.MODE_RDONLY | MPI.MODE_DELETE_ON_CLOSE
        )
        gone.Close()
        """
    )
    began = "File.Read_all_begin: Read_ordered_begin was called, and Read_ordered_end not yet"
    for rank in range(2):
        assert said[rank] == ["5 5", began, "b'BB' 3", "1 True", "7", "7 7"]
    assert not path.exists()


@on("1+1")
def test_a_name_or_a_hint_says_which_clusters_disk_has_the_file(
    shared: SharedGrid, tmp_path: Path
) -> None:
    path = tmp_path / "data"
    said = shared(
        f"""
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        file = MPI.File.Open(
            world, "site0/cluster1:{path}", MPI.MODE_WRONLY | MPI.MODE_CREATE
        )
        print(file.info.Get("gcm_home"), [type(one).__name__ for one in (file,)])
        if world.rank == 0:
            file.Write(b"far")
        file.Close()

        def opened(name, **hints):
            try:
                MPI.File.Open(world, name, info=MPI.Info.Create(hints)).Close()
                print("opened")
            except MPI.Exception as error:
                print(*error.__notes__)

        opened({str(path)!r}, gcm_home="site0/cluster1")
        opened({str(path)!r}, gcm_home="site0/cedar")
        opened("home:/etc/hosts")
        """
    )
    assert path.read_bytes() == b"far"
    for rank in range(2):
        assert said[rank][:2] == ["site0/cluster1 ['File']", "opened"]
        assert (
            said[rank][2] == "there is no cluster site0/cedar, but site0/cluster0, site0/cluster1"
        )
        assert said[rank][3].startswith("a file cannot have the home home yet")


@on("1+1")
def test_what_is_wrong_with_a_file_has_a_class_and_says_where(
    shared: SharedGrid, tmp_path: Path
) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"abc")
    said = shared(
        f"""
        import os
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        names = [one for one in dir(MPI) if one.startswith("ERR_")]
        os.chdir({str(tmp_path)!r})

        def raised(call):
            try:
                call()
            except MPI.Exception as error:
                kind = [one for one in names if getattr(MPI, one) == error.error_class][0]
                print(kind, *error.__notes__)

        def opens(name, mode):
            raised(lambda: MPI.File.Open(world, name, mode))

        opens("nothing", MPI.MODE_RDONLY)
        opens("data", MPI.MODE_RDWR | MPI.MODE_CREATE | MPI.MODE_EXCL)
        opens(".", MPI.MODE_RDONLY)
        opens("data", MPI.MODE_CREATE)
        opens("data", MPI.MODE_RDONLY if world.rank else MPI.MODE_RDWR)
        file = MPI.File.Open(world, "data", MPI.MODE_RDONLY)
        raised(lambda: file.Write_at(0, b"x"))
        raised(lambda: file.Seek(-1))
        raised(lambda: file.Set_view(0, MPI.INT, MPI.BYTE))
        raised(lambda: file.Set_size(world.rank))
        opens("a\\0b", MPI.MODE_RDONLY)
        raised(lambda: file.Set_view(0, MPI.BYTE, MPI.BYTE, "external32"))
        file.Close()
        full = MPI.File.Open(world, "/dev/full", MPI.MODE_WRONLY)
        if world.rank == 1:
            raised(lambda: full.Write_at(8, bytes(5)))
            request = full.Iwrite_at(8, bytes(5))
            raised(request.Wait)
        full.Close()
        """
    )
    home = r"rank 0 (site0/cluster0 0) on "
    lines = said[1]
    assert lines[0].startswith(f"ERR_NO_SUCH_FILE nothing at {home}")
    assert lines[0].endswith(", the home of the file: the system says: No such file or directory")
    assert lines[1].startswith("ERR_FILE_EXISTS data at ")
    assert lines[2].startswith("ERR_BAD_FILE . at ")
    assert lines[3].startswith("ERR_AMODE a file has one of MODE_RDONLY")
    assert lines[4] == "ERR_NOT_SAME the ranks open the file with different modes"
    assert lines[5].startswith("ERR_READ_ONLY File.Write_at: the file was opened with MODE_RDONLY")
    assert lines[6] == "ERR_ARG File.Seek: the position -1 would be before the beginning"
    assert "no whole number of elementary types of 4 bytes" in lines[7]
    assert lines[8].startswith("ERR_READ_ONLY File.Set_size")
    assert lines[9].startswith("ERR_BAD_FILE a\0b at rank 0")
    assert lines[10].startswith("ERR_UNSUPPORTED_DATAREP File.Set_view: a file over several")
    for line in lines[11:]:
        assert line.startswith("ERR_NO_SPACE")
        assert "0 of 5 bytes were done at rank 0 (site0/cluster0 0)" in line
        assert line.endswith("No space left on device")
    assert len(lines) == 13
    assert said[0] == lines[:11]


@on("1+1")
def test_what_is_wrong_at_one_rank_or_beyond_any_file_holds_nobody_up(
    shared: SharedGrid, tmp_path: Path
) -> None:
    said = shared(
        f"""
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        me = world.rank
        file = MPI.File.Open(world, {str(tmp_path / "data")!r}, MPI.MODE_RDWR | MPI.MODE_CREATE)
        last = (1 << 63) - 1

        def tried(act):
            try:
                act()
                print("done")
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_ARG, *error.__notes__)
            except TypeError as error:
                print(error)
            world.Barrier()

        file.Seek_shared(last)
        tried(lambda: file.Seek_shared(10, MPI.SEEK_CUR))
        tried(lambda: me and file.Read_shared(bytearray(1)))
        tried(lambda: file.Write_ordered(b"x"))
        tried(lambda: file.Seek_shared(2 if me == 0 else "two"))
        file.Set_view(100, MPI.INT)
        tried(lambda: file.Write_ordered(bytes(4 + me)))
        file.Set_atomicity(True)
        tried(lambda: me and file.Write_at(last // 4, bytes(8)))
        tried(lambda: file.Write_at(0, bytes(4)))
        file.Close()
        tried(lambda: MPI.File.Open(world, "data", info=None if me else MPI.INFO_NULL))
        """
    )
    assert all(len(said[rank]) == 8 for rank in range(2))
    for rank in range(2):
        assert said[rank][0].endswith(f"the position {(1 << 63) + 9} is beyond the end of any file")
        assert "the shared file pointer is at" in said[rank][2]
        assert said[rank][6] == "done"
    assert said[0][1] == "done"
    assert said[1][1].startswith("True the shared file pointer is at")
    assert said[0][3].endswith("rank 1 could not do its part: TypeError: " + said[1][3])
    assert said[0][4].endswith("5 bytes are no whole number of elementary types of 4 bytes")
    assert said[0][5] == "done"
    assert said[1][5].endswith(": no file is so long")
    assert said[1][7].startswith("Argument 'info' has incorrect type")
    assert said[0][7].endswith("rank 1 could not do its part: TypeError: " + said[1][7])


@on("1+1")
def test_who_waits_for_a_file_hears_that_the_communicator_was_revoked(
    shared: SharedGrid, tmp_path: Path
) -> None:
    said = shared(
        f"""
        import os
        from mpi4py import MPI
        comm = MPI.COMM_WORLD.Dup()
        mode = MPI.MODE_RDWR | MPI.MODE_CREATE | MPI.MODE_DELETE_ON_CLOSE
        file = MPI.File.Open(comm, {str(tmp_path / "data")!r}, mode)
        try:
            if comm.rank == 0:
                os.unlink({str(tmp_path / "data")!r})
                file.Sync()
            else:
                comm.Revoke()
                file.Write(b"x")
        except MPI.Exception as error:
            print(error.error_class == MPI.ERR_REVOKED)
        try:
            file.Close()
        except MPI.Exception as error:  # it was to be deleted
            print(error.error_class == MPI.ERR_NO_SUCH_FILE)
        print(file == MPI.FILE_NULL)
        """
    )
    assert said == {0: ["True", "True", "True"], 1: ["True", "True"]}


@on("1+1")
def test_a_home_that_cannot_read_a_request_gives_the_file_up_for_all(
    shared: SharedGrid, tmp_path: Path
) -> None:
    said = shared(
        f"""
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        file = MPI.File.Open(world, {str(tmp_path / "data")!r}, MPI.MODE_RDWR | MPI.MODE_CREATE)
        if world.rank == 1:
            grid = file._grid
            grid.engine.connections.send(grid.home, grid._head + b"\\x01short", ())
            try:
                file.Write_at(0, b"lost")
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_REVOKED, error)
            world.send("after it", 0)
        else:
            print(world.recv(source=1))
            try:
                file.Get_size()
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_OTHER, *error.__notes__)
        file.Close()
        """
    )
    assert said[0][0] == "after it"
    assert said[0][1].startswith("True the file was given up here, since rank 1")
    assert said[1][0].startswith("True rank 0")
    assert "has given the file up, since it was broken there" in said[1][0]
    assert any("Close it here, too" in line for line in said[1])


RANDOM = """
    from random import Random
    from mpi4py import MPI
    ACTS = "view", "write", "read", "next", "request", "shared", "order", "cut"
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    wrong = steps = 0
    for seed in range({first}, {last}):
        random = Random(seed)
        file = MPI.File.Open(world, {path!r}, MPI.MODE_RDWR | MPI.MODE_CREATE)
        file.Set_size(0)
        file.Set_atomicity(random.random() < 0.5)
        model, shared, places, views = bytearray(), 0, [0] * size, [None] * size

        def put(at, data):
            model.extend(bytes(max(0, at + len(data) - len(model))))
            model[at:at + len(data)] = data

        def seen(view, at, count):  # the bytes of a view, one by one
            start, length, stride = view
            return [start + one // length * stride + one % length for one in range(at, at + count)]

        for _ in range(25):
            steps += 1
            act = random.choice(ACTS)
            who, at, count = random.randrange(size), random.randrange(50), random.randrange(1, 40)
            data = random.randbytes(count)
            if act == "view":
                view = random.randrange(9), random.randrange(1, 6), random.randrange(6, 9)
                kind = MPI.BYTE.Create_contiguous(view[1]).Create_resized(0, view[2]).Commit()
                file.Set_view(view[0], MPI.BYTE, kind)
                kind.Free()
                views, shared, places = [view] * size, 0, [0] * size
            elif views[0] is None:
                continue
            elif act == "cut":
                file.Set_size(at)
                model[:] = model[:at] + bytes(max(0, at - len(model)))
            elif act == "order":
                mine = [data[one:one + rank + 1] for rank, one in enumerate(range(size))]
                file.Write_ordered(mine[me])
                for part in mine:
                    for place, one in zip(seen(view, shared, len(part)), part):
                        put(place, bytes([one]))
                    shared += len(part)
            elif act == "read":
                found, status = bytearray(count), MPI.Status()
                file.Read_at_all(at, found, status)
                there = [place for place in seen(view, at, count) if place < len(model)]
                wrong += status.Get_count(MPI.BYTE) != len(there)
                wrong += found[:len(there)] != bytes(model[place] for place in there)
            else:
                if act == "shared":
                    at, shared = shared, shared + count
                elif act == "next":
                    at, places[who] = places[who], places[who] + count
                if me == who:
                    if act == "shared":
                        file.Write_shared(data)
                    elif act == "next":
                        file.Write(data)
                    elif act == "request":
                        status = MPI.Status()
                        file.Iwrite_at(at, data).Wait(status)
                        wrong += status.Get_count(MPI.BYTE) != count
                    else:
                        file.Write_at(at, data)
                for place, one in zip(seen(view, at, count), data):
                    put(place, bytes([one]))
            world.Barrier()
        wrong += file.Get_size() != len(model)
        whole = bytearray(len(model) + 1)
        file.Set_view(0)
        file.Read_at(0, whole)
        wrong += whole[:-1] != model
        file.Close()
    print(wrong, steps)
    """


@on("2+1")
def test_random_programs_do_what_they_do_to_bytes_in_one_process(
    shared: SharedGrid, tmp_path: Path
) -> None:
    seeds = 8
    said = shared(RANDOM.format(first=100, last=100 + seeds, path=str(tmp_path / "data")))
    assert said == {rank: [f"0 {25 * seeds}"] for rank in range(3)}


@on("1+1")
def test_a_request_that_nobody_waits_for_is_done_before_the_file_is_closed(
    shared: SharedGrid, tmp_path: Path
) -> None:
    path = tmp_path / "data"
    shared(
        f"""
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        file = MPI.File.Open(world, {str(path)!r}, MPI.MODE_WRONLY | MPI.MODE_CREATE)
        requests = [
            file.Iwrite_at((4 * world.rank + one) * 2_000_000, bytes([one]) * 2_000_000)
            for one in range(4)
        ]
        file.Close()
        """
    )
    written = path.read_bytes()
    assert written == b"".join(bytes([one]) * 2_000_000 for one in range(4)) * 2


def test_a_home_that_dies_is_an_error_and_what_was_answered_is_in_the_file(
    grid: Grid, tmp_path: Path
) -> None:
    path = tmp_path / "data"
    said = grid(
        "1+2",
        f"""
        import os
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        file = MPI.File.Open(world, {str(path)!r}, MPI.MODE_RDWR | MPI.MODE_CREATE)
        if world.rank == 1:
            file.Write_at(0, b"written")
        world.Barrier()
        if world.rank == 0:
            os._exit(3)
        try:
            while True:
                file.Write_at(10, b"more")
        except MPI.Exception as error:
            print(error.error_class == MPI.ERR_PROC_FAILED, "rank 0" in str(error))
        world.sendrecv(None, 3 - world.rank, source=3 - world.rank)
        file.Close()
        print("closed")
        """,
        failures="return",
        code=(0, 1, 3),
    )
    assert said[1] == said[2] == ["True True", "closed"]
    assert path.read_bytes()[:7] == b"written"
