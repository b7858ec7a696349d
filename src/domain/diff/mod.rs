//! Text side by side: aligned rows, changed words within lines, folded stretches, hunks.
