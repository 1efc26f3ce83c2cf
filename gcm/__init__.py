"""A Fractal/GCM component framework: components, membranes, interfaces and an XML language."""
