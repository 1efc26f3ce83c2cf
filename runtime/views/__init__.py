"""What is shown of a run: facts, folds over them, and renderers. Knows nothing of processes.

`facts` has the record types, `fact_lines` writes them to a file and reads it. `progress_tree` and
`account` are the folds; `picture`, `plain_lines` and `summary` make text of them.
"""
