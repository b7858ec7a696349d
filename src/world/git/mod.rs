//! Git over libgit2: bare mirrors, trees without a checkout, commits without an index, pushes with their answers.
