//! Writes: a [`Plan`] sent step by step, each once.
//!
//! A write is never sent again by itself: where the answer is lost nobody knows whether it arrived, and the fault says
//! so. The first refused step ends the plan; what was done before it is reported.

use std::time::Duration;

use http::{Method, Request};
use serde_json::Value;

use super::discovery::escaped;
use super::{Cluster, fault, read};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::operate::{Plan, Step, Write};

/// The longest wait for the answer to one write.
const ANSWER: Duration = Duration::from_secs(30);

/// That writes are allowed in this run: nothing is written without one.
#[derive(Debug, Clone, Copy)]
pub struct Permit(());

impl Permit {
    /// Gives the permit, unless the run is read-only.
    ///
    /// # Errors
    /// `refused` where it is.
    pub fn unless(read_only: bool) -> Result<Self, Fault> {
        if read_only {
            return Err(Fault::new(
                FaultKind::Refused,
                "read-only: no write leaves this program",
            )
            .hint("start without --read-only (and without readOnly: true)"));
        }
        Ok(Self(()))
    }
}

/// What one step came to.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOutcome {
    /// The step's words.
    pub words: String,
    /// The object as the server gave it back, or why it refused.
    pub result: Result<Value, Fault>,
}

/// What a plan came to; steps after a refused one are not in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Performed {
    /// The steps that were sent, in order.
    pub outcomes: Vec<StepOutcome>,
}

impl Performed {
    /// Returns why the plan ended early, where it did.
    pub fn fault(&self) -> Option<&Fault> {
        self.outcomes.last()?.result.as_ref().err()
    }
}

impl Cluster {
    /// Sends a plan's steps in order; with `dry_run` the server checks and admits them, but stores nothing.
    pub async fn perform(&self, plan: &Plan, _permit: Permit, dry_run: bool) -> Performed {
        let mut performed = Performed::default();
        for step in &plan.steps {
            let result = self.send_step(step, dry_run).await;
            let ended = result.is_err();
            performed.outcomes.push(StepOutcome {
                words: step.words.clone(),
                result,
            });
            if ended {
                break;
            }
        }
        performed
    }

    async fn send_step(&self, step: &Step, dry_run: bool) -> Result<Value, Fault> {
        let (group, version) = step
            .api_version
            .split_once('/')
            .unwrap_or(("", &step.api_version));
        let refused =
            |sentence: String| Fault::new(FaultKind::Refused, sentence).about(&*self.context);
        let Some(served) = self.served(group, version, &step.kind).await? else {
            return Err(refused(format!(
                "the server does not serve {} {}",
                step.api_version, step.kind
            )));
        };
        if served.namespaced && step.namespace.is_none() {
            return Err(refused(format!(
                "{} {} names no namespace",
                step.kind, step.name
            )));
        }
        let create = matches!(step.write, Write::Create { .. });
        let name = (!create).then_some(step.name.as_str());
        let mut url = format!(
            "{}?fieldManager={}",
            served.path(step.namespace.as_deref(), name),
            escaped(step.manager())
        );
        let (method, content, verb) = match &step.write {
            Write::Merge(_) => (Method::PATCH, "application/merge-patch+json", "patch"),
            Write::Json(_) => (Method::PATCH, "application/json-patch+json", "patch"),
            Write::Apply { force, .. } => {
                if *force {
                    url.push_str("&force=true");
                }
                (Method::PATCH, "application/apply-patch+yaml", "patch")
            }
            Write::Create { .. } => (Method::POST, "application/json", "create"),
        };
        // a misspelt field of ours must not be pruned unseen; manifests of Git go through as they are
        if matches!(step.write, Write::Merge(_)) {
            url.push_str("&fieldValidation=Strict");
        }
        if dry_run {
            url.push_str("&dryRun=All");
        }
        let doing = match &step.namespace {
            Some(namespace) => format!("{verb} {} {namespace}/{}", served.name(), step.name),
            None => format!("{verb} {} {}", served.name(), step.name),
        };
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header(http::header::CONTENT_TYPE, content)
            .body(step.write.body().to_string().into_bytes())
            .map_err(|e| fault::of(&self.context, &doing, &kube::Error::HttpError(e)))?;
        match tokio::time::timeout(ANSWER, read::json(&self.client, request)).await {
            Ok(Ok(object)) => Ok(object),
            Ok(Err(kube::Error::Api(status)))
                if matches!(step.write, Write::Json(_)) && is_failed_test(&status) =>
            {
                Err(Fault::new(
                    FaultKind::Conflict,
                    format!("could not {doing}: somebody changed it in between"),
                )
                .about(&*self.context)
                .hint("look at it again, then retry"))
            }
            Ok(Err(error @ kube::Error::Api(_))) => Err(fault::of(&self.context, &doing, &error)),
            Ok(Err(error)) => Err(lost(fault::of(&self.context, &doing, &error))),
            Err(_) => Err(lost(
                Fault::new(
                    FaultKind::Timeout,
                    format!("could not {doing}: no answer after {} s", ANSWER.as_secs()),
                )
                .about(&*self.context),
            )),
        }
    }
}

/// A JSON patch whose `test` does not hold is refused as invalid, without naming a field.
fn is_failed_test(status: &kube::core::Status) -> bool {
    status.code == 422 && status.details.as_ref().is_none_or(|d| d.causes.is_empty())
}

/// A write whose answer never came may have arrived.
fn lost(fault: Fault) -> Fault {
    fault.hint(
        "it is not known whether the write arrived: look at the object before you send it again",
    )
}
