"""Booking of places at peers, without sockets, clocks and threads."""
