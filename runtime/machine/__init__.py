"""What the machine is: the contracts between its components, and the calls they become."""
