"""Messages over connections that break: frames, both ends of a stream, what is replayed."""
