//! Acts from the screens: what is asked for, what is refused, and what the journal keeps of it.

use gitops_tui::domain::backfill;
use gitops_tui::domain::operate::{Expect, Plan, Verb};
use gitops_tui::session::sheet::Sheet;
use gitops_tui::session::{Committed, JournalLine, Proposal, Ticket};

use super::*;

fn plan(app: gitops_tui::domain::fleet::AppRef, verb: Verb) -> Plan {
    Plan {
        app,
        verb,
        steps: vec![],
        warnings: vec![],
        destructive: false,
        expect: Expect::Answer,
    }
}

/// Plays a key that asks for an act on `checkout`, up to the confirmed dialog; returns the name of the running act.
fn begun(session: &mut Session, key: &str, verb: Verb) -> Ticket {
    let effects = play(session, key);
    let Some(Effect::PlanAct { ticket, app, .. }) = effects.into_iter().next_back() else {
        panic!("no plan")
    };
    let result = Ok(plan(app, verb));
    session.update(Message::Planned { ticket, result });
    let effects = play(session, "prod-eu<enter>");
    let Some(Effect::Execute { ticket, .. }) = effects.into_iter().next_back() else {
        panic!("nothing is executed")
    };
    ticket
}

/// Plays the accept of `checkout`'s first field up to the running commit.
fn committing(session: &mut Session) -> Ticket {
    let effects = play(session, "a");
    let Some(Effect::PlanAccept {
        ticket,
        app,
        wishes,
    }) = effects.into_iter().next_back()
    else {
        panic!("no plan")
    };
    let wish = wishes[0].clone();
    let file = backfill::FileEdit {
        path: "apps/checkout/deployment.yaml".into(),
        before: b"replicas: 3\n".to_vec(),
        after: b"replicas: 5\n".to_vec(),
    };
    let proposal = Proposal {
        plan: backfill::Plan {
            files: vec![file],
            accepted: vec![backfill::Accepted {
                wish,
                place: "apps/checkout/deployment.yaml:14".into(),
            }],
            ..backfill::Plan::default()
        },
        branch: "drift/checkout".into(),
        message: "checkout: keep what is live".into(),
        repository: app.to_string(),
    };
    session.update(Message::Proposed {
        ticket,
        result: Ok(Box::new(proposal)),
    });
    let effects = play(session, "<enter>");
    let Some(Effect::Commit { ticket, .. }) = effects.into_iter().next_back() else {
        panic!("nothing is committed")
    };
    ticket
}

fn committed(branch: &str) -> Committed {
    Committed {
        branch: branch.into(),
        commit: "45691eba687d2430ce14000b902016de2d2ce9a4".into(),
        pushed: None,
        next: None,
    }
}

fn recorded(effects: &[Effect]) -> Vec<&JournalLine> {
    let lines = effects.iter().filter_map(|effect| match effect {
        Effect::Record(line) => Some(line),
        _ => None,
    });
    lines.collect()
}

#[test]
fn the_journal_names_the_act_whether_it_was_done_or_refused() {
    for (key, verb) in [("s", Verb::Sync), ("r", Verb::Refresh)] {
        for result in [
            Ok("done so".to_owned()),
            Err(Fault::new(FaultKind::Forbidden, "no right")),
        ] {
            let mut session = demo();
            let word = if result.is_ok() { "done" } else { "forbidden" };
            let ticket = begun(&mut session, &format!("/checkout<enter>{key}"), verb);
            let effects = session.update(Message::Done { ticket, result });
            let lines = recorded(&effects);
            assert_eq!((&*lines[0].verb, &*lines[0].result), (verb.word(), word));
            assert_eq!(session.journal.last(), Some(lines[0]));
        }
    }
}

#[test]
fn an_act_that_was_overtaken_by_another_still_ends_in_the_journal() {
    let mut session = demo();
    let first = begun(&mut session, "/checkout<enter>s", Verb::Sync);
    let second = begun(&mut session, "r", Verb::Refresh);
    session.update(Message::Done {
        ticket: second.clone(),
        result: Ok("fetched".into()),
    });
    session.update(Message::Done {
        ticket: first,
        result: Ok("applied".into()),
    });
    // an answer that comes twice is one act
    session.update(Message::Done {
        ticket: second,
        result: Ok("fetched".into()),
    });
    let kept: Vec<&str> = session.journal.iter().map(|line| &*line.verb).collect();
    assert_eq!(kept, ["refresh", "sync"]);
    assert_eq!(session.waiting(), None);
}

#[test]
fn a_commit_whose_dialog_was_closed_is_told_and_kept_in_the_journal() {
    for result in [
        Ok(committed("drift/checkout")),
        Err(Fault::new(FaultKind::Conflict, "the branch exists")),
    ] {
        let mut session = demo();
        play(&mut session, "/checkout<enter><enter>d");
        let ticket = committing(&mut session);
        play(&mut session, "<esc>");
        assert!(session.sheets.is_empty());
        assert!(session.waiting().unwrap().contains("committing"));
        assert!(session.notice().unwrap().text.contains("goes on"));
        // the engineer goes elsewhere meanwhile
        play(&mut session, "<esc><esc>");
        let effects = session.update(Message::Committed {
            ticket,
            result: result.clone(),
        });
        let lines = recorded(&effects);
        assert_eq!(lines.len(), 1, "{result:?}");
        assert_eq!((&*lines[0].verb, &*lines[0].context), ("accept", "prod-eu"));
        assert!(lines[0].app.contains("checkout"));
        assert_eq!(session.waiting(), None);
    }
}

#[test]
fn two_commits_at_once_both_end() {
    let mut session = demo();
    play(&mut session, "/checkout<enter><enter>d");
    let first = committing(&mut session);
    play(&mut session, "<esc>");
    let second = committing(&mut session);
    session.update(Message::Committed {
        ticket: first,
        result: Ok(committed("one")),
    });
    // the second one's dialog stays until its own answer
    assert!(matches!(session.sheets.last(), Some(Sheet::Accept(_))));
    session.update(Message::Committed {
        ticket: second,
        result: Ok(committed("two")),
    });
    assert!(session.sheets.is_empty());
    assert_eq!(session.journal.len(), 2);
}

#[test]
fn noise_under_a_cursor_placed_by_hand_is_refused_with_its_reason() {
    let mut session = demo();
    let mut git = deployment(3, "web:1");
    let mut live = git.clone();
    git["metadata"]["annotations"] = json!({"a": "git"});
    live["metadata"]["annotations"] = json!({"a": "live"});
    let mut noise = field(
        "metadata.annotations.a",
        Some(json!("git")),
        Some(json!("live")),
        Verdict::Noise,
    );
    noise.rule = Some("written by the cluster's own controllers".into());
    let answer = drifted(&session, "cart", git, live, vec![noise]);
    let effects = play(&mut session, "/cart<enter><f5>");
    let Some(Effect::Compare { ticket, .. }) = effects
        .into_iter()
        .rfind(|e| matches!(e, Effect::Compare { .. }))
    else {
        panic!("no comparison")
    };
    session.update(Message::Drift {
        ticket,
        result: Ok(Box::new(answer)),
    });
    play(&mut session, "<enter>d.gn");
    assert_eq!(session.field().map(|f| f.verdict), Some(Verdict::Noise));
    for (key, marks) in [("a", ""), ("a", " ")] {
        assert_eq!(
            play(
                &mut session,
                &format!("{}{key}", marks.replace(' ', "<space>"))
            ),
            []
        );
        let told = session.notice().unwrap().text.clone();
        assert!(
            told.contains("it is noise") && told.contains("cluster's own controllers"),
            "{told}"
        );
    }
}

#[test]
fn read_only_says_so_and_plans_nothing() {
    let mut session = demo();
    session.options.read_only = true;
    for key in ["s", "r", "R", "p"] {
        assert_eq!(play(&mut session, key), [], "{key}");
    }
    assert!(planes(&paint(&mut session, 80, 24, Depth::None)).contains("read-only"));
}

#[test]
fn a_guarded_context_asks_for_its_name() {
    let mut session = demo();
    let effects = play(&mut session, "/checkout<enter>s");
    let Some(Effect::PlanAct { ticket, app, .. }) = effects.into_iter().next_back() else {
        panic!("no plan")
    };
    let plan = plan(app, Verb::Sync);
    session.update(Message::Planned {
        ticket,
        result: Ok(plan.clone()),
    });
    assert_eq!(play(&mut session, "<enter>"), [], "the name was not typed");
    let effects = play(&mut session, "prod-eu<enter>");
    assert!(matches!(&effects[..], [Effect::Execute { plan: asked, .. }] if **asked == plan));
}

#[test]
fn a_backfill_stays_with_the_app_it_was_planned_for() {
    let mut session = demo();
    let effects = play(&mut session, "/checkout<enter><enter>a");
    let Some(Effect::PlanAccept { ticket, app, .. }) = effects.into_iter().next_back() else {
        panic!("no plan")
    };
    // the engineer goes on to another app while the plan is worked out
    play(&mut session, "<esc><esc>gjj");
    assert_ne!(session.app_at(), Some(&app));
    let proposal = Proposal {
        plan: backfill::Plan::default(),
        branch: "b".into(),
        message: "m".into(),
        repository: "r".into(),
    };
    session.update(Message::Proposed {
        ticket,
        result: Ok(Box::new(proposal)),
    });
    assert!(matches!(session.sheets.last(), Some(Sheet::Accept(review)) if review.app == app));
}
