"""Arguments and results of calls: numbers, memory, handles; and their errors."""
