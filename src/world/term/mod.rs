//! The terminal: entered and left by a guard, input, clipboard, children.
