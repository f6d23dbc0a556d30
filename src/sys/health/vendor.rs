//! Takes the programs' answers apart.

use std::collections::BTreeMap;

use crate::model::health::{Answer, NvidiaSmi, ProgramRun, RdmaStack, SmiFailure, Vendor};
use crate::parse::{parse_ofed_info, parse_smi_query};

/// What the programs said.
pub(super) fn of(runs: &BTreeMap<&'static str, ProgramRun>) -> Vendor {
    Vendor {
        smi: smi(runs.get("nvidia-smi-query")),
        ofed: ofed(runs.get("ofed_info")),
    }
}

fn smi(run: Option<&ProgramRun>) -> Answer<NvidiaSmi> {
    match run {
        Some(ProgramRun::Ended {
            status,
            signal: None,
            stdout,
            stderr,
            path,
        }) => {
            let mut value = parse_smi_query(stdout, stderr);
            let silent = value.gpus.is_empty() && value.no_handle.is_empty();
            if silent && value.failure.is_none() {
                let line = match (value.messages.first(), status) {
                    (Some(line), _) => line.clone(),
                    (None, Some(status)) => format!("exit status {status} and no output"),
                    (None, None) => "no output".to_owned(),
                };
                value.failure = Some((SmiFailure::Other, line));
            }
            Answer::Given {
                value,
                path: path.clone(),
            }
        }
        run => without_answer(run),
    }
}

fn ofed(run: Option<&ProgramRun>) -> Answer<RdmaStack> {
    match run {
        Some(ProgramRun::Ended {
            signal: None,
            stdout,
            stderr,
            path,
            ..
        }) => {
            let path = path.clone();
            if let Ok(value) = parse_ofed_info(stdout) {
                return Answer::Given { value, path };
            }
            let line = [stdout, stderr]
                .iter()
                .find_map(|t| t.lines().find(|l| !l.trim().is_empty()))
                .unwrap_or("nothing");
            let line: String = line.chars().take(40).collect();
            Answer::Broken {
                what: format!("printed {line:?}"),
                path,
                hung: false,
            }
        }
        run => without_answer(run),
    }
}

fn without_answer<T>(run: Option<&ProgramRun>) -> Answer<T> {
    const MIB: usize = 1 << 20;
    let broken = |what: String, path: &str, hung: bool| Answer::Broken {
        what,
        path: path.to_owned(),
        hung,
    };
    match run {
        None => Answer::default(),
        Some(ProgramRun::NotFound(why)) => Answer::Absent(why),
        Some(ProgramRun::CouldNotStart(why)) => {
            let path = why.split(": ").next().unwrap_or_default();
            broken(format!("could not be started: {why}"), path, false)
        }
        Some(ProgramRun::Hung { limit, path }) => broken(
            format!("did not end within {} s", limit.as_secs()),
            path,
            true,
        ),
        Some(ProgramRun::TooMuch { limit, path }) => broken(
            format!("printed more than {} MiB and was stopped", limit / MIB),
            path,
            false,
        ),
        Some(ProgramRun::Ended { signal, path, .. }) => {
            let signal = signal.map_or_else(|| "a signal".to_owned(), |n| format!("signal {n}"));
            broken(format!("was ended by {signal}"), path, false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(status: i32, stdout: &str, stderr: &str) -> ProgramRun {
        ProgramRun::Ended {
            status: Some(status),
            signal: None,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            path: "/usr/bin/x".to_owned(),
        }
    }

    #[test]
    fn an_answer_without_rows_is_a_failure() {
        let failure = |run: ProgramRun| {
            let Answer::Given { value, .. } = smi(Some(&run)) else {
                panic!("{run:?}");
            };
            value.failure
        };
        let other = |line: &str| Some((SmiFailure::Other, line.to_owned()));
        assert_eq!(
            failure(ended(9, "", "")),
            other("exit status 9 and no output")
        );
        assert_eq!(failure(ended(1, "", "boom\n")), other("boom"));
        assert_eq!(failure(ended(0, "0, 00000000:1B:00.0, GPU-1\n", "")), None);
        let handle = "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error\n";
        assert_eq!(failure(ended(0, "", handle)), None);
    }

    #[test]
    fn what_became_of_a_program_is_told() {
        let told = |run: ProgramRun| match ofed(Some(&run)) {
            Answer::Broken { what, .. } => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(told(ended(1, "", "\nno dpkg\n")), "printed \"no dpkg\"");
        let killed = ProgramRun::Ended {
            status: None,
            signal: Some(11),
            stdout: String::new(),
            stderr: String::new(),
            path: "/usr/bin/x".to_owned(),
        };
        assert_eq!(told(killed), "was ended by signal 11");
        assert_eq!(ofed(None), Answer::Absent("not asked"));
        assert_eq!(
            ofed(Some(&ProgramRun::NotFound("not installed"))),
            Answer::Absent("not installed")
        );
        let given = ofed(Some(&ended(0, "OFED-internal-25.10-1.7.1:\n", "")));
        assert_eq!(given.given().unwrap().0.version, "25.10-1.7.1");
    }
}
