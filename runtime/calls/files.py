"""The calls of files: a row for each, see `runtime.calls.table`."""

ROWS = """
[File]
fromhandle                 -                                 handle        l   native                 handle
free                       -                                 file-fact     l   ours
Close                      MPI_File_close                    file          b   ours
Delete                     MPI_File_delete                   file-fact     l   native                 filename info=INFO_NULL
Set_size                   MPI_File_set_size                 file          b   ours                   size
Preallocate                MPI_File_preallocate              file          b   ours                   size
Get_size                   MPI_File_get_size                 file-fact     l   ours
Get_amode                  MPI_File_get_amode                file-fact     l   ours
Get_group                  MPI_File_get_group                file-fact     l   ours
Set_info                   MPI_File_set_info                 file-fact     l   ours                   info
Get_info                   MPI_File_get_info                 file-fact     l   ours
Set_view                   MPI_File_set_view                 file          b   ours                   disp=0 etype=BYTE filetype=None datarep=native info=INFO_NULL
Get_view                   MPI_File_get_view                 file-fact     l   ours
Read_at                    MPI_File_read_at                  file-access   bi  ours                   offset buf:out status=None
Read_at_all                MPI_File_read_at_all              file-access   bi  ours                   offset buf:out status=None
Write_at                   MPI_File_write_at                 file-access   bi  ours                   offset buf:in status=None
Write_at_all               MPI_File_write_at_all             file-access   bi  ours                   offset buf:in status=None
Read                       MPI_File_read                     file-access   bi  ours                   buf:out status=None
Read_all                   MPI_File_read_all                 file-access   bi  ours                   buf:out status=None
Write                      MPI_File_write                    file-access   bi  ours                   buf:in status=None
Write_all                  MPI_File_write_all                file-access   bi  ours                   buf:in status=None
Seek                       MPI_File_seek                     file-fact     l   ours                   offset whence=SEEK_SET
Get_position               MPI_File_get_position             file-fact     l   ours
Get_byte_offset            MPI_File_get_byte_offset          file-fact     l   ours                   offset
Read_shared                MPI_File_read_shared              file-access   bi  ours                   buf:out status=None
Write_shared               MPI_File_write_shared             file-access   bi  ours                   buf:in status=None
Read_ordered               MPI_File_read_ordered             file-access   b   ours                   buf:out status=None
Write_ordered              MPI_File_write_ordered            file-access   b   ours                   buf:in status=None
Seek_shared                MPI_File_seek_shared              file          b   ours                   offset whence=SEEK_SET
Get_position_shared        MPI_File_get_position_shared      file-fact     l   ours
Read_at_all_begin          MPI_File_read_at_all_begin        file-access   b   ours                   offset buf:out
Read_at_all_end            MPI_File_read_at_all_end          file-access   b   ours                   buf:out status=None
Write_at_all_begin         MPI_File_write_at_all_begin       file-access   b   ours                   offset buf:in
Write_at_all_end           MPI_File_write_at_all_end         file-access   b   ours                   buf:in status=None
Read_all_begin             MPI_File_read_all_begin           file-access   b   ours                   buf:out
Read_all_end               MPI_File_read_all_end             file-access   b   ours                   buf:out status=None
Write_all_begin            MPI_File_write_all_begin          file-access   b   ours                   buf:in
Write_all_end              MPI_File_write_all_end            file-access   b   ours                   buf:in status=None
Read_ordered_begin         MPI_File_read_ordered_begin       file-access   b   ours                   buf:out
Read_ordered_end           MPI_File_read_ordered_end         file-access   b   ours                   buf:out status=None
Write_ordered_begin        MPI_File_write_ordered_begin      file-access   b   ours                   buf:in
Write_ordered_end          MPI_File_write_ordered_end        file-access   b   ours                   buf:in status=None
Get_type_extent            MPI_File_get_type_extent          file-fact     l   ours                   datatype
Set_atomicity              MPI_File_set_atomicity            file-fact     l   ours                   flag
Get_atomicity              MPI_File_get_atomicity            file-fact     l   ours
Sync                       MPI_File_sync                     file          b   ours
Create_errhandler          MPI_File_create_errhandler        errhandler    l   native                 errhandler_fn
Get_errhandler             MPI_File_get_errhandler           errhandler    l   native
Set_errhandler             MPI_File_set_errhandler           errhandler    l   native                 errhandler
Call_errhandler            MPI_File_call_errhandler          errhandler    l   native                 errorcode
toint                      MPI_File_toint                    handle        l   ours
fromint                    MPI_File_fromint                  handle        l   native                 arg
py2f                       MPI_File_c2f                      handle        l   ours
f2py                       MPI_File_f2c                      handle        l   native                 arg
"""
