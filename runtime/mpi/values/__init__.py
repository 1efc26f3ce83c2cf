"""What calls are given and return: numbers, memory, handles; and what may be wrong with them."""
