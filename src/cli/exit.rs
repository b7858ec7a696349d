//! Exit codes, the same for every command.

use std::process::ExitCode;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::AppState;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Clean, or done.
    Clean,
    /// Drift, or a refused write.
    Drift,
    /// Could not run: usage, configuration, Git or cluster fault.
    CouldNotRun,
    /// Nothing drifted among what could be compared, but something could not be compared.
    NotCompared,
}

impl Exit {
    /// Returns the number.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Drift => 1,
            Self::CouldNotRun => 2,
            Self::NotCompared => 3,
        }
    }

    /// Returns how a command that met `fault` ends.
    pub fn of_fault(fault: &Fault) -> Self {
        match fault.kind {
            FaultKind::Refused => Self::Drift,
            _ => Self::CouldNotRun,
        }
    }

    /// Returns how a comparison with these states ends: drift first, then what could not be compared.
    pub fn of_states(states: impl IntoIterator<Item = AppState>) -> Self {
        let mut exit = Self::Clean;
        for state in states {
            match state {
                AppState::Drifted | AppState::Both => return Self::Drift,
                AppState::Unknown | AppState::Failed | AppState::Progressing => {
                    exit = Self::NotCompared;
                }
                AppState::GitAhead
                | AppState::Held
                | AppState::Excepted
                | AppState::AdditionsOnly
                | AppState::InSync => {}
            }
        }
        exit
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cannot_tell_is_never_no_drift() {
        use AppState::{Drifted, GitAhead, InSync, Unknown};
        let table = [
            (vec![], Exit::Clean),
            (vec![InSync, GitAhead], Exit::Clean),
            (vec![InSync, Unknown], Exit::NotCompared),
            (vec![Unknown, Drifted], Exit::Drift),
        ];
        for (states, expect) in table {
            assert_eq!(Exit::of_states(states.clone()), expect, "{states:?}");
        }
    }
}
