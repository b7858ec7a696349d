//! The jobs that screens and commands share: compare an app, plan and perform an act.
