"""Connections between members of a lab, and the calls of services that go over them."""
