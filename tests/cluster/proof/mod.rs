//! What is claimed of comparing, proved on the real servers: kinds as the real engines apply them, untouched and with
//! one change each.

mod actor;
mod case;
mod precision;
mod score;

use crate::world::{World, tools};

#[test]
fn proof() {
    let Some(bin) = tools() else { return };
    let mut world = World::start(bin);
    world.start_flux();
    world.start_argo();
    let proxy = world.start_proxy();
    let wrong = precision::run(&world, &proxy);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Needs no servers: the tables are readable and as large as is claimed.
#[test]
fn the_tables_hold_what_is_claimed() {
    let cases = case::cases();
    let kinds: std::collections::BTreeSet<&str> = cases
        .iter()
        .filter_map(|case| case.object["kind"].as_str())
        .collect();
    let changed = |column| {
        let of = |case: &&case::Case| case.column == column && case.change.is_some();
        cases.iter().filter(of).count()
    };
    let (flux, argo) = (changed(case::Column::Flux), changed(case::Column::Argo));
    println!(
        "{} kinds, {flux} changes under Flux, {argo} under Argo CD",
        kinds.len()
    );
    assert!(kinds.len() >= 25 && flux >= 120 && argo >= 120);
}
