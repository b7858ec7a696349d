//! Files of our own: configuration, state, journal, log.
