"""What a rank keeps of its calls where a run is checked: their arguments, and a log of them."""
