//! /proc/cpuinfo and /proc/sys/kernel/arch.

use super::ParseError;

/// What kind of machine it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Processor {
    /// It is an Arm machine.
    pub(crate) is_arm: bool,
    /// x86 says that a hypervisor is below; Arm's file never says so.
    pub(crate) is_guest: Option<bool>,
}

/// Parses /proc/cpuinfo: Arm has `CPU implementer`, x86 `vendor_id` and `flags`.
pub(crate) fn parse_cpuinfo(text: &str) -> Result<Processor, ParseError> {
    let has = |name: &str| text.lines().any(|l| l.starts_with(name));
    if has("CPU implementer") {
        return Ok(Processor {
            is_arm: true,
            is_guest: None,
        });
    }
    // POWER has neither and says `cpu`.
    if !has("vendor_id") && !has("cpu") {
        return Err(ParseError::new("a description of processors", text));
    }
    let flags = text.lines().find(|l| l.starts_with("flags"));
    Ok(Processor {
        is_arm: false,
        is_guest: flags.map(|f| f.split_whitespace().any(|word| word == "hypervisor")),
    })
}

/// Parses /proc/sys/kernel/arch, which is what `uname -m` prints.
pub(crate) fn parse_arch(text: &str) -> Result<bool, ParseError> {
    if text.is_empty() {
        return Err(ParseError::new("a machine's name", text));
    }
    Ok(text.starts_with("aarch64") || text.starts_with("arm"))
}

#[cfg(test)]
mod tests {
    use super::{parse_arch, parse_cpuinfo};

    #[test]
    fn machines_tell_what_they_are() {
        let arm = parse_cpuinfo("processor\t: 0\nCPU implementer\t: 0x41\n").unwrap();
        assert!(arm.is_arm && arm.is_guest.is_none());
        let guest =
            parse_cpuinfo("processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n")
                .unwrap();
        assert!(!guest.is_arm && guest.is_guest == Some(true));
        let metal = parse_cpuinfo("vendor_id\t: AuthenticAMD\nflags\t\t: fpu vme\n").unwrap();
        assert_eq!(metal.is_guest, Some(false));
        let power = parse_cpuinfo("processor\t: 0\ncpu\t\t: POWER9\n").unwrap();
        assert!(!power.is_arm && power.is_guest.is_none());
        assert!(parse_cpuinfo("").is_err());
        assert!(parse_arch("aarch64").unwrap() && !parse_arch("x86_64").unwrap());
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = (parse_cpuinfo(&text), parse_arch(&text));
        }
    }
}
