"""What model files tell without being run: one reader per format, all of them only parse."""
