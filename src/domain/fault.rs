//! What went wrong, worded for a person: a kind, one sentence, the place, the causes and the next step.
//!
//! Small typed errors arise where they are found; they become a [`Fault`] where the words are known. The chain of
//! causes goes to the log, the sentence and the hint go to the screen. A fault never holds a secret value.

use std::fmt;

/// The kind of a fault; scripts and screens decide by it, never by the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// The command line was wrong.
    Usage,
    /// A configuration file, keymap, theme or kubeconfig was wrong.
    Config,
    /// A server could not be reached.
    Unreachable,
    /// A wait ended at its bound.
    Timeout,
    /// The server knows us and says no.
    Forbidden,
    /// The server does not know us.
    Unauthorized,
    /// A named thing does not exist.
    NotFound,
    /// Git could not give or take something.
    Git,
    /// A file of the repository is broken, so a part could not be rendered.
    Render,
    /// Something real that this version does not do yet, named.
    Unsupported,
    /// Encrypted, and no key at hand.
    Encrypted,
    /// A write was refused: by a guard, a rule of ours, or the server.
    Refused,
    /// Somebody else changed the object in between.
    Conflict,
    /// A fault of ours.
    Internal,
}

impl FaultKind {
    /// Returns the word that JSON documents carry.
    pub fn word(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Config => "config",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Forbidden => "forbidden",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not-found",
            Self::Git => "git",
            Self::Render => "render",
            Self::Unsupported => "unsupported",
            Self::Encrypted => "encrypted",
            Self::Refused => "refused",
            Self::Conflict => "conflict",
            Self::Internal => "internal",
        }
    }
}

/// A place in a file: the path as the reader knows it, and the 1-based line where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Path, from the repository's root for files in Git.
    pub file: String,
    /// 1-based line.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// What went wrong, for a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fault {
    /// What scripts and screens decide by.
    pub kind: FaultKind,
    /// What it is about: a context, an app (`ks/flux-system/apps`), an object; absent where the sentence says it.
    pub subject: Option<String>,
    /// One plain sentence without a final full stop.
    pub sentence: String,
    /// The file and line, where there is one.
    pub place: Option<Place>,
    /// The chain below, outermost first; for the log and for `--verbose`.
    pub causes: Vec<String>,
    /// The next step.
    pub hint: Option<String>,
}

impl Fault {
    /// Makes a fault of `kind` with its sentence.
    pub fn new(kind: FaultKind, sentence: impl Into<String>) -> Self {
        Self {
            kind,
            subject: None,
            sentence: sentence.into(),
            place: None,
            causes: vec![],
            hint: None,
        }
    }

    /// Says what the fault is about (context, app, object).
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Says where: a file and, where there is one, the 1-based line.
    #[must_use]
    pub fn at(mut self, file: impl Into<String>, line: impl Into<Option<usize>>) -> Self {
        self.place = Some(Place {
            file: file.into(),
            line: line.into(),
        });
        self
    }

    /// Adds a cause from the layer below.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// Returns the words without the subject, where the reader knows what it is about.
    pub fn without_subject(&self) -> String {
        let mut words = self.clone();
        words.subject = None;
        words.to_string()
    }

    /// Says the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Prints `subject: sentence, file:line: cause` on one line; the hint is left to the caller, who owns the layout.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(subject) = &self.subject {
            write!(f, "{subject}: ")?;
        }
        f.write_str(&self.sentence)?;
        if let Some(place) = &self.place {
            write!(f, ", {place}")?;
        }
        if let Some(cause) = self.causes.first() {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_subject_sentence_place_and_first_cause() {
        let fault = Fault::new(FaultKind::Unsupported, "not supported yet: vars")
            .about("ks/flux-system/apps")
            .at("apps/prod/kustomization.yaml", 12)
            .because("inner")
            .because("innermost");
        assert_eq!(
            fault.to_string(),
            "ks/flux-system/apps: not supported yet: vars, apps/prod/kustomization.yaml:12: inner"
        );
    }
}
