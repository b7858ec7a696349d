//! Events of the terminal library as messages of the session: the terminal itself knows no session.

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};

use crate::session::key::{Key, Press};
use crate::session::{Message, Mouse};

/// Rows that one turn of the wheel moves.
const WHEEL: i32 = 3;

/// Returns what an event means; `None` for what means nothing here.
pub(super) fn message(event: Event) -> Option<Message> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => self::key(key).map(Message::Key),
        Event::Paste(text) => Some(Message::Paste(text)),
        Event::Resize(width, height) => Some(Message::Resize { width, height }),
        Event::Mouse(mouse) => Some(Message::Mouse(match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Mouse::Click {
                column: mouse.column,
                row: mouse.row,
            },
            MouseEventKind::ScrollDown => Mouse::Wheel(WHEEL),
            MouseEventKind::ScrollUp => Mouse::Wheel(-WHEEL),
            _ => return None,
        })),
        _ => None,
    }
}

fn key(event: KeyEvent) -> Option<Key> {
    let press = match event.code {
        KeyCode::Char(c) => Press::Char(c),
        KeyCode::Enter => Press::Enter,
        KeyCode::Esc => Press::Esc,
        KeyCode::Tab => Press::Tab,
        KeyCode::BackTab => Press::BackTab,
        KeyCode::Backspace => Press::Backspace,
        KeyCode::Delete => Press::Delete,
        KeyCode::Up => Press::Up,
        KeyCode::Down => Press::Down,
        KeyCode::Left => Press::Left,
        KeyCode::Right => Press::Right,
        KeyCode::Home => Press::Home,
        KeyCode::End => Press::End,
        KeyCode::PageUp => Press::PageUp,
        KeyCode::PageDown => Press::PageDown,
        KeyCode::F(n) => Press::F(n),
        _ => return None,
    };
    Some(Key {
        press,
        ctrl: event.modifiers.contains(KeyModifiers::CONTROL),
        alt: event.modifiers.contains(KeyModifiers::ALT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_keys_with_their_modifiers() {
        let event = Event::Key(KeyEvent::new(KeyCode::Char('d'), KeyModifiers::CONTROL));
        assert_eq!(
            message(event),
            Some(Message::Key("ctrl-d".parse().unwrap()))
        );
        let event = Event::Key(KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT));
        assert_eq!(message(event), Some(Message::Key("G".parse().unwrap())));
        assert_eq!(message(Event::FocusGained), None);
    }
}
