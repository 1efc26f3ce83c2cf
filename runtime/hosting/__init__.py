"""Puts components on the machine: serves them to other processes and reaches those elsewhere."""
