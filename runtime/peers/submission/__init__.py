"""Running a program on peers: places are booked, become a machine, and get what they need."""
