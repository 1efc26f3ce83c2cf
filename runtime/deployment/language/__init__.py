"""The language of descriptors: one table, and what is made of it."""
