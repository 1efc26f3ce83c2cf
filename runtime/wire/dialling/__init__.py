"""How connections come about: addresses, routes, dialling, listening, meeting."""
