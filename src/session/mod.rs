//! The running program as a pure state machine: message in, effects out.
