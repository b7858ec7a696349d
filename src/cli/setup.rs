//! From arguments and environment to the jobs of a run.

use std::path::{Path, PathBuf};

use super::args::Global;
use super::env::Env;
use super::words;
use crate::domain::fault::Fault;
use crate::domain::settings::{Settings, Variables};
use crate::runtime::clock;
use crate::runtime::jobs::{Jobs, Options, Places};
use crate::world::cluster::{Contexts, KubeEnv};
use crate::world::demo::Demo;
use crate::world::disk::{Folders, load_settings};
use crate::world::git::{Access, Timeouts};

/// Reads the settings and says what is wrong with them.
pub(super) fn settings(global: &Global, env: &Env) -> Result<(Settings, Option<Folders>), Fault> {
    let variables = variables(env);
    let folders = match Folders::find(&variables) {
        Ok(folders) => folders,
        // The demo needs no folders of ours.
        Err(_) if global.demo => return Ok((Settings::default(), None)),
        Err(fault) => return Err(fault),
    };
    if global.demo && global.config.is_none() {
        return Ok((Settings::default(), Some(folders)));
    }
    let mut loaded = load_settings(&folders, global.config.as_deref(), &variables, vec![])?;
    for problem in loaded.problems.iter().chain(&loaded.warnings) {
        words::problem(problem);
    }
    if !loaded.problems.is_empty() && !loaded.settings.read_only {
        // What was left out may have been `readOnly` or a guard: without them nothing is written.
        loaded.settings.read_only = true;
        words::say("warning: writes are off until the configuration is mended");
    }
    Ok((loaded.settings, Some(folders)))
}

fn variables(env: &Env) -> Variables {
    env.vars()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// Reads the settings and makes the jobs of a run; must be called inside the runtime.
pub(super) fn jobs(global: &Global, env: &Env) -> Result<Jobs, Fault> {
    let (settings, folders) = settings(global, env)?;
    jobs_with(global, env, settings, folders)
}

/// Makes the jobs of a run by settings that were read; must be called inside the runtime.
pub(super) fn jobs_with(
    global: &Global,
    env: &Env,
    settings: Settings,
    folders: Option<Folders>,
) -> Result<Jobs, Fault> {
    let timeouts = &settings.timeouts;
    let access = Access::new(
        variables(env),
        Timeouts {
            connect: global.timeout.unwrap_or(timeouts.git_connect.0),
            idle: timeouts.git_idle.0,
            helper: timeouts.helper.0,
        },
    );
    let mut options = Options {
        contexts: global.context.clone(),
        read_only: global.read_only,
        offline: global.offline,
        timeout: Some(global.timeout.unwrap_or(timeouts.request.0)),
        mirrors: PathBuf::new(),
        cache: None,
        state: None,
        actor: env
            .get("USER")
            .or(env.get("LOGNAME"))
            .unwrap_or("unknown")
            .to_owned(),
        identity: None,
    };
    let places = if global.demo {
        let demo = Demo::start(clock::now())?;
        options.mirrors = demo
            .repository()
            .parent()
            .unwrap_or(Path::new("."))
            .join("mirrors");
        options.identity = Some(("Demo On-Call".to_owned(), "oncall@acme.example".to_owned()));
        "oncall".clone_into(&mut options.actor);
        Places::demo(demo)
    } else {
        if let Some(folders) = folders {
            options.mirrors = folders.mirrors(&settings.cache);
            options.cache = options.mirrors.parent().map(Path::to_owned);
            options.state = Some(folders.state);
        }
        let contexts = Contexts::load(&kube_env(global, env))?;
        for problem in contexts.problems() {
            words::problem(problem);
        }
        Places::Kubeconfig(contexts)
    };
    let jobs = Jobs::new(places, settings, options, access);
    for name in &global.context {
        if !jobs.contexts().iter().any(|c| **c == **name) {
            return Err(jobs.no_context(name));
        }
    }
    Ok(jobs)
}

fn kube_env(global: &Global, env: &Env) -> KubeEnv {
    let (files, named) = match (&global.kubeconfig, env.get("KUBECONFIG")) {
        (Some(file), _) => (vec![file.clone()], true),
        (None, Some(list)) => (std::env::split_paths(list).collect(), true),
        (None, None) => (
            env.home()
                .map(|home| home.join(".kube/config"))
                .into_iter()
                .collect(),
            false,
        ),
    };
    let proxy = |upper: &str, lower: &str| env.get(upper).or(env.get(lower)).map(str::to_owned);
    KubeEnv {
        files,
        named,
        https_proxy: proxy("HTTPS_PROXY", "https_proxy"),
        http_proxy: proxy("HTTP_PROXY", "http_proxy"),
        no_proxy: proxy("NO_PROXY", "no_proxy"),
        answer_within: global.timeout.map(|limit| limit.as_secs()),
    }
}
