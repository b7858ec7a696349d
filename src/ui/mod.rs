//! Paints a session into a frame; decides nothing.
