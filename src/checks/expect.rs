//! What the user says the node ought to have: `--expect gpus=8`, `--require ofed>=5.8`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A version that compares number by number: 24.01 is newer than 23.10, and 5.8-1.1.2.1 than 5.8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    numbers: Vec<u64>,
    text: String,
}

impl Version {
    /// Compares as far as the shorter of the two goes: 5.8-1.1.2.1 satisfies `=5.8`.
    pub(crate) fn compare_prefix(&self, other: &Self) -> Ordering {
        let length = self.numbers.len().min(other.numbers.len());
        self.numbers[..length].cmp(&other.numbers[..length])
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| self.text.cmp(&other.text))
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<u64>> = text
            .split(['.', '-'])
            .map(|part| part.parse().ok())
            .collect();
        match numbers {
            Some(numbers) if !numbers.is_empty() => Ok(Self {
                numbers,
                text: text.to_owned(),
            }),
            _ => Err(format!("{text:?} is no version")),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// `ofed>=5.8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// What: `ofed`, `doca`, `nvidia`, `nccl`, `kernel`.
    pub(crate) what: String,
    /// The lowest (`>=`) or the only (`=`) version.
    pub(crate) version: Version,
    /// True for `=`.
    pub(crate) exactly: bool,
}

impl Requirement {
    /// True where a version satisfies it.
    pub(crate) fn is_met_by(&self, version: &Version) -> bool {
        match version.compare_prefix(&self.version) {
            Ordering::Equal => {
                self.exactly
                    || version.numbers.len() >= self.version.numbers.len()
                    || version.numbers == self.version.numbers
            }
            Ordering::Greater => !self.exactly,
            Ordering::Less => false,
        }
    }
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const KNOWN: [&str; 5] = ["ofed", "doca", "nvidia", "nccl", "kernel"];
        let (what, version, exactly) = if let Some((what, version)) = text.split_once(">=") {
            (what, version, false)
        } else if let Some((what, version)) = text.split_once('=') {
            (what, version.trim_start_matches('='), true)
        } else {
            return Err(
                "NAME>=VERSION or NAME=VERSION is needed, for example ofed>=5.8".to_owned(),
            );
        };
        if !KNOWN.contains(&what) {
            return Err(format!("{what:?} is none of {}", KNOWN.join(", ")));
        }
        Ok(Self {
            what: what.to_owned(),
            version: version.parse()?,
            exactly,
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.exactly { "=" } else { ">=" };
        write!(f, "{}{sign}{}", self.what, self.version)
    }
}

/// What the node ought to have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expectations {
    /// `--expect gpus=N`.
    pub(crate) gpus: Option<usize>,
    /// `--expect hcas=N`: data ports.
    pub(crate) hcas: Option<usize>,
    /// `--expect rate=N`: rate of a data port in Gb/s.
    pub(crate) rate_gbps: Option<u64>,
    /// `--require`.
    pub(crate) requirements: Vec<Requirement>,
}

impl Expectations {
    /// Takes `NAME=NUMBER` in.
    pub(crate) fn add(&mut self, text: &str) -> Result<(), String> {
        let (name, number) = text.split_once('=').ok_or("NAME=NUMBER is needed")?;
        let number: usize = number
            .parse()
            .map_err(|_| format!("{number:?} is no number"))?;
        match name {
            "gpus" => self.gpus = Some(number),
            "hcas" => self.hcas = Some(number),
            "rate" => self.rate_gbps = u64::try_from(number).ok(),
            other => return Err(format!("{other:?} is none of gpus, hcas, rate")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Requirement, Version};

    fn met(requirement: &str, version: &str) -> bool {
        let version: Version = version.parse().unwrap();
        requirement
            .parse::<Requirement>()
            .unwrap()
            .is_met_by(&version)
    }

    #[test]
    fn versions_compare_as_versions() {
        assert!(met("ofed>=23.10", "24.01-0.3.3.1"));
        assert!(!met("ofed>=24.01", "23.10-1.1.9.0"));
        assert!(met("ofed>=5.8", "5.8-1.1.2.1"));
        assert!(met("ofed>=5.8", "5.10"));
        assert!(!met("ofed>=5.8-2", "5.8-1.1.2.1"));
        assert!(met("ofed=5.8", "5.8-1.1.2.1"));
        assert!(!met("ofed=5.8", "5.9"));
        assert!("ofed>5".parse::<Requirement>().is_err());
        assert!("driver>=5".parse::<Requirement>().is_err());
        assert!("ofed>=x".parse::<Requirement>().is_err());
    }
}
