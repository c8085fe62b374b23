"""What the user asks for: options, presets, counter files, configuration files."""
