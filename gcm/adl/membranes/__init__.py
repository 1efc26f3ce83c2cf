"""What documents say of membranes: interceptors, controller files, circles of bindings."""
