"""What is known of the user's code: program points, bytecode, source lines, lost gradients."""
