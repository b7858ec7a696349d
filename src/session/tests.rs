//! Sessions played by keys and messages.

use super::*;

#[test]
fn quits_on_the_capital_letter() {
    let mut session = Session::new(Fleet::default(), Options::default());
    let effects = session.update(Message::Key("Q".parse().unwrap()));
    assert_eq!(effects, [Effect::Quit]);
}
