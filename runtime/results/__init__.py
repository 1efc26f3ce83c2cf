"""Result files: which ones, how they are brought home, and to where."""
