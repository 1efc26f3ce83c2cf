"""Carries calls between processes: frames, credentials, streams, and the channel over them."""
