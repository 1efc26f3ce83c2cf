"""The commands `gcm-peer` and `gcm-run`: parse, call, render."""
