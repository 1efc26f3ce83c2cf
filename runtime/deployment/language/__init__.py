"""The descriptor language: one table, and what is generated from it."""
