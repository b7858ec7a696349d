//! Words with a meaning, not a colour.

/// What a piece of text means; a theme turns it into a style at the last moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Role {
    /// Ordinary text.
    #[default]
    Text,
    /// Less important text: ages, hints, units.
    Dim,
    /// A heading or the name of a column.
    Title,
    /// A key to press.
    Key,
    /// Something is broken: `failed`, a fault.
    Bad,
    /// Live differs from Git: `drifted`.
    Drift,
    /// Git moved on: `git-ahead`.
    Ahead,
    /// Cannot tell: `unknown`.
    Unknown,
    /// Under way.
    Progress,
    /// Held or excepted.
    Held,
    /// In sync, done.
    Good,
    /// The row or field under the cursor.
    Selected,
    /// A marked row or field.
    Marked,
    /// A line only in Git (diff, left).
    Minus,
    /// The words of a line that only Git has.
    MinusWord,
    /// A line only live (diff, right).
    Plus,
    /// The words of a line that only live has.
    PlusWord,
    /// A folded stretch.
    Fold,
    /// A YAML key.
    YamlKey,
    /// A YAML string.
    YamlString,
    /// A YAML number, boolean or null.
    YamlLiteral,
    /// Punctuation and comments.
    YamlPunct,
    /// A person's doing (blame).
    Person,
    /// An automation's doing (blame).
    Automation,
    /// A frame or rule.
    Border,
    /// A badge such as `read-only`.
    Badge,
}

/// A run of text with one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// What it means.
    pub role: Role,
    /// The text, already clean.
    pub text: String,
}

/// One line of spans.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// Left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// Appends `text` in `role`.
    pub fn push(&mut self, role: Role, text: impl Into<String>) {
        self.spans.push(Span {
            role,
            text: text.into(),
        });
    }

    /// Returns the line's text without roles.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|s| s.text.as_str()).collect()
    }
}
