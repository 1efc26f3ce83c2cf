"""Programs of known fault, and what `gcm-deploy` tells of their waits."""
