"""What documents say of membranes: interceptors, and the controller files of the Java one."""
