"""What the commands of `gcm-peer` do: call and render."""
