//! Backfill: the smallest edit of the files that makes Git say what is live, proven by rendering again, or a refusal
//! with its reason.
