"""The architecture description language: from XML to a checked plan to live components and back."""
