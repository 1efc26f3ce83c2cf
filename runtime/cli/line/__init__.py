"""What is written on a command line: options, a machine in words, slips and completion."""
