"""What a C program in this process asks of the grid, function by function; see `runtime.shim`."""
