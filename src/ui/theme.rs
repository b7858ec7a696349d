//! Roles to styles: a theme is a small YAML file, and the terminal's depth of colour has the last word.
//!
//! Themes are compiled in (`themes/*.yaml`). Colours come down from 24 bits to 256, to 16, to none; what tells states
//! apart is always a sign and a word, so that nothing is lost on the way.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::text::Role;
use crate::domain::yaml;

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Depth {
    /// None at all.
    None,
    /// The 16 of every terminal.
    Sixteen,
    /// The fixed table of 256.
    Indexed,
    /// 24 bits.
    True,
}

impl Depth {
    /// Tells the depth from `TERM`, `COLORTERM` and `NO_COLOR` (empty counts as not set).
    ///
    /// # Errors
    /// A terminal that cannot show full screens.
    pub fn of(
        term: Option<&str>,
        colorterm: Option<&str>,
        no_color: Option<&str>,
    ) -> Result<Self, Fault> {
        let term = term.unwrap_or_default();
        if term.is_empty() || term == "dumb" {
            return Err(Fault::new(
                FaultKind::Usage,
                "this terminal cannot show full screens (TERM is `dumb` or not set)",
            )
            .hint("use `gitops-tui list`, `diff` and `check`, or set TERM"));
        }
        if no_color.is_some_and(|text| !text.is_empty()) {
            return Ok(Self::None);
        }
        let indexed = term.contains("256color")
            || term.contains("kitty")
            || term.contains("alacritty")
            || term.contains("ghostty");
        Ok(match colorterm {
            Some("truecolor" | "24bit") => Self::True,
            _ if indexed => Self::Indexed,
            _ => Self::Sixteen,
        })
    }
}

/// The themes that are compiled in.
const THEMES: &[(&str, &str)] = &[
    ("dark", include_str!("../../themes/dark.yaml")),
    ("light", include_str!("../../themes/light.yaml")),
    (
        "high-contrast",
        include_str!("../../themes/high-contrast.yaml"),
    ),
    ("sixteen", include_str!("../../themes/sixteen.yaml")),
    ("none", include_str!("../../themes/none.yaml")),
];

/// The names of the roles in a theme's file.
const ROLES: &[(&str, Role)] = &[
    ("text", Role::Text),
    ("dim", Role::Dim),
    ("title", Role::Title),
    ("key", Role::Key),
    ("bad", Role::Bad),
    ("drift", Role::Drift),
    ("ahead", Role::Ahead),
    ("unknown", Role::Unknown),
    ("progress", Role::Progress),
    ("held", Role::Held),
    ("good", Role::Good),
    ("selected", Role::Selected),
    ("marked", Role::Marked),
    ("minus", Role::Minus),
    ("minus-word", Role::MinusWord),
    ("plus", Role::Plus),
    ("plus-word", Role::PlusWord),
    ("fold", Role::Fold),
    ("yaml-key", Role::YamlKey),
    ("yaml-string", Role::YamlString),
    ("yaml-literal", Role::YamlLiteral),
    ("yaml-punct", Role::YamlPunct),
    ("person", Role::Person),
    ("automation", Role::Automation),
    ("border", Role::Border),
    ("badge", Role::Badge),
];

/// Styles by role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Theme {
    styles: BTreeMap<Role, Style>,
}

impl Theme {
    /// Returns the names of the themes that are compiled in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        THEMES.iter().map(|(name, _)| *name)
    }

    /// Returns a theme by name (`auto` picks by the terminal) for a terminal of this depth; an unknown name is a fault.
    pub fn named(name: &str, depth: Depth) -> Result<Self, Fault> {
        let name = match (name, depth) {
            (_, Depth::None) => "none",
            ("auto", Depth::Sixteen) => "sixteen",
            ("auto", _) => "dark",
            (name, _) => name,
        };
        let (_, text) = THEMES.iter().find(|(n, _)| *n == name).ok_or_else(|| {
            let names: Vec<&str> = Self::names().collect();
            Fault::new(FaultKind::Config, format!("`{name}` is no theme"))
                .hint(format!("one of auto, {}", names.join(", ")))
        })?;
        let (theme, mut faults) = Self::load(&format!("themes/{name}.yaml"), text, depth);
        match faults.pop() {
            Some(fault) => Err(fault),
            None => Ok(theme),
        }
    }

    /// Reads a theme's file; gives what could be read, and what could not.
    pub fn load(file: &str, text: &str, depth: Depth) -> (Self, Vec<Fault>) {
        let mut theme = Self::default();
        let mut faults = vec![];
        let stream = yaml::parse(text.as_bytes());
        let Some(root) = stream.document(0).and_then(yaml::Document::root) else {
            return (theme, faults);
        };
        for entry in root.entries() {
            let name = entry.key.text().unwrap_or_default();
            let Some((_, role)) = ROLES.iter().find(|(n, _)| *n == name) else {
                faults.push(
                    Fault::new(FaultKind::Config, format!("`{name}` is no role"))
                        .at(file, entry.key.line()),
                );
                continue;
            };
            let mut style = Style::new();
            for part in entry.value.entries() {
                let (key, value) = (
                    part.key.text().unwrap_or_default(),
                    part.value.text().unwrap_or_default(),
                );
                let known = match key {
                    "fg" => color(value, depth, &mut style.fg),
                    "bg" => color(value, depth, &mut style.bg),
                    _ => modifier(key)
                        .map(|m| style = style.add_modifier(m))
                        .is_some(),
                };
                if !known {
                    faults.push(
                        Fault::new(
                            FaultKind::Config,
                            format!("`{key}: {value}` is no colour or way of writing"),
                        )
                        .at(file, part.key.line()),
                    );
                }
            }
            theme.styles.insert(*role, style);
        }
        (theme, faults)
    }

    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(&role).copied().unwrap_or_default()
    }
}

fn modifier(name: &str) -> Option<Modifier> {
    Some(match name {
        "bold" => Modifier::BOLD,
        "dim" => Modifier::DIM,
        "italic" => Modifier::ITALIC,
        "underline" => Modifier::UNDERLINED,
        "reverse" => Modifier::REVERSED,
        _ => return None,
    })
}

/// Reads a colour into `into`, brought down to the depth; tells whether it is one. What the depth has not is left out.
fn color(text: &str, depth: Depth, into: &mut Option<Color>) -> bool {
    let Ok(color) = text.parse::<Color>() else {
        return false;
    };
    *into = match (depth, color) {
        (Depth::None, _) => None,
        (Depth::Indexed, Color::Rgb(r, g, b)) => Some(Color::Indexed(cube(r, g, b))),
        (Depth::Sixteen, Color::Rgb(r, g, b)) => Some(nearest(r, g, b)),
        (Depth::Sixteen, Color::Indexed(n)) if n > 15 => None,
        (_, c) => Some(c),
    };
    true
}

/// The nearest of the 6×6×6 cube, or of the greys.
fn cube(r: u8, g: u8, b: u8) -> u8 {
    if r.abs_diff(g) < 8 && g.abs_diff(b) < 8 {
        return match r {
            0..=7 => 16,
            239..=255 => 231,
            r => 232 + (r - 8) / 10,
        };
    }
    let level = |c: u8| match c {
        0..=47 => 0,
        48..=114 => 1,
        c => (c - 35) / 40,
    };
    16 + 36 * level(r) + 6 * level(g) + level(b)
}

fn nearest(r: u8, g: u8, b: u8) -> Color {
    const TABLE: [(Color, [u8; 3]); 14] = [
        (Color::Black, [0, 0, 0]),
        (Color::DarkGray, [110, 110, 110]),
        (Color::Gray, [190, 190, 190]),
        (Color::White, [255, 255, 255]),
        (Color::Red, [180, 40, 40]),
        (Color::LightRed, [250, 110, 120]),
        (Color::Green, [40, 140, 40]),
        (Color::LightGreen, [140, 210, 120]),
        (Color::Yellow, [190, 150, 40]),
        (Color::LightYellow, [230, 200, 120]),
        (Color::Blue, [40, 80, 190]),
        (Color::LightBlue, [120, 160, 250]),
        (Color::Magenta, [170, 80, 190]),
        (Color::Cyan, [90, 190, 200]),
    ];
    let far = |c: &[u8; 3]| -> u32 {
        c.iter()
            .zip([r, g, b])
            .map(|(a, b)| u32::from(a.abs_diff(b)).pow(2))
            .sum()
    };
    TABLE
        .iter()
        .min_by_key(|(_, c)| far(c))
        .map_or(Color::Reset, |(color, _)| *color)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_loads_whole_at_every_depth() {
        for name in Theme::names() {
            for depth in [Depth::None, Depth::Sixteen, Depth::Indexed, Depth::True] {
                let theme = Theme::named(name, depth).unwrap();
                assert_eq!(theme.styles.len(), ROLES.len(), "{name}");
                for style in theme.styles.values() {
                    for color in [style.fg, style.bg].into_iter().flatten() {
                        let fits = match depth {
                            Depth::None => false,
                            Depth::Sixteen => {
                                !matches!(color, Color::Rgb(..))
                                    && !matches!(color, Color::Indexed(n) if n > 15)
                            }
                            Depth::Indexed => !matches!(color, Color::Rgb(..)),
                            Depth::True => true,
                        };
                        assert!(fits, "{name} {depth:?} {color}");
                    }
                }
            }
        }
        assert!(Theme::named("pink", Depth::True).is_err());
    }

    /// T04: what each terminal may be sent.
    #[test]
    fn takes_the_depth_from_the_environment() {
        for (term, colorterm, no_color, depth) in [
            ("xterm-256color", Some("truecolor"), None, Some(Depth::True)),
            ("xterm-256color", None, None, Some(Depth::Indexed)),
            ("xterm", None, None, Some(Depth::Sixteen)),
            ("linux", None, None, Some(Depth::Sixteen)),
            ("screen", None, None, Some(Depth::Sixteen)),
            ("tmux-256color", None, None, Some(Depth::Indexed)),
            ("dumb", None, None, None),
            (
                "xterm-256color",
                Some("truecolor"),
                Some("1"),
                Some(Depth::None),
            ),
            (
                "xterm-256color",
                Some("truecolor"),
                Some(""),
                Some(Depth::True),
            ),
        ] {
            assert_eq!(
                Depth::of(Some(term), colorterm, no_color).ok(),
                depth,
                "{term} {colorterm:?} {no_color:?}"
            );
        }
    }
}
