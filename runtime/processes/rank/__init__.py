"""The process of a rank: it finds its front-end, starts MPI, and runs the program."""
