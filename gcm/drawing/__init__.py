"""Pictures of assemblies as SVG, drawn without any external program."""
