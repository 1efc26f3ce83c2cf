"""The command line: options, a machine in words, likely mistakes and completion."""
