"""An example for each public function, shown at the end of its docstring."""
