//! The commit message: what was accepted, from what to what, whose hand it was, and the trailers that tools read.

use std::fmt::Write as _;

use serde_json::Value;

use crate::domain::text::clean_line;

use super::Accepted;

/// Who made a live change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hand {
    /// The manager's name, as managedFields has it.
    pub manager: String,
    /// When, RFC 3339.
    pub time: Option<String>,
}

/// What a commit message is made of.
#[derive(Debug, Clone, Copy)]
pub struct Message<'m> {
    /// The kubeconfig context.
    pub context: &'m str,
    /// The app, in words: `ks/flux-system/apps`.
    pub app: &'m str,
    /// What the plan accepts, with whose hand each was.
    pub accepted: &'m [(&'m Accepted, Option<Hand>)],
}

/// The longest subject.
const SUBJECT: usize = 72;
/// The longest value in a message, in characters.
const VALUE: usize = 100;

impl Message<'_> {
    /// Writes the message: a subject of at most 72 characters, one paragraph per field, trailers. It holds no control
    /// characters and ends with a line break.
    pub fn write(&self) -> String {
        let mut out = self.subject();
        out.push_str("\n\n");
        let mut trailers = vec![
            ("Drift-Context", line(self.context)),
            ("Drift-App", line(self.app)),
        ];
        for (accepted, hand) in self.accepted {
            let wish = &accepted.wish;
            let field = line(&wish.path.to_string());
            let _ = writeln!(out, "{}\n  {field}", line(&wish.object.to_string()));
            let _ = writeln!(
                out,
                "    from {}\n    to   {}",
                shown(wish.from.as_ref()),
                shown(wish.to.as_ref())
            );
            let _ = writeln!(out, "    in   {}", line(&accepted.place));
            if let Some(hand) = hand {
                let time = hand
                    .time
                    .as_deref()
                    .map(|time| format!(" at {}", line(time)))
                    .unwrap_or_default();
                let _ = writeln!(out, "    live change by {}{time}", line(&hand.manager));
            }
            out.push('\n');
            trailers.push(("Drift-Object", line(&wish.object.to_string())));
            trailers.push(("Drift-Field", field));
            if let Some(hand) = hand {
                trailers.push(("Drift-Manager", line(&hand.manager)));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        for (name, value) in trailers {
            let trailer = format!("{name}: {value}\n");
            if seen.insert(trailer.clone()) {
                out.push_str(&trailer);
            }
        }
        out
    }

    fn subject(&self) -> String {
        let app = line(self.app);
        let subject = match self.accepted {
            [(accepted, _)] => {
                let wish = &accepted.wish;
                format!(
                    "{app}: accept {} of {}",
                    line(&wish.path.to_string()),
                    line(&wish.object.to_string())
                )
            }
            many => format!("{app}: accept {} live values", many.len()),
        };
        shortened(&subject, SUBJECT)
    }
}

/// Makes a text safe for one line.
fn line(text: &str) -> String {
    clean_line(text).into_owned()
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(
        || "(absent)".to_owned(),
        |value| shortened(&line(&value.to_string()), VALUE),
    )
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{kept}…")
}
