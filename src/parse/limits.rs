//! /proc/self/limits, /proc/self/status, /proc/meminfo, /proc/mounts, `df`.

use super::ParseError;
use crate::model::health::Limit;

/// Soft and hard limit of one resource of /proc/PID/limits, whose names have blanks in them.
///
/// `Max locked memory         8388608              8388608              bytes`
pub(crate) fn parse_limit(text: &str, name: &'static str) -> Result<(Limit, Limit), ParseError> {
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix(' '))
        .ok_or_else(|| ParseError::new("a table of limits", text))?;
    let wrong = || ParseError::new("a resource limit", line);
    let mut words = line.split_whitespace();
    let mut next = || match words.next() {
        Some("unlimited") => Ok(Limit::Unlimited),
        Some(number) => number.parse().map(Limit::Value).map_err(|_| wrong()),
        None => Err(wrong()),
    };
    Ok((next()?, next()?))
}

/// A bit mask of /proc/PID/status, such as `CapEff:	000001ffffffffff`.
pub(crate) fn parse_capabilities(text: &str, name: &str) -> Result<u64, ParseError> {
    field(text, name)
        .and_then(|value| u64::from_str_radix(value, 16).ok())
        .ok_or_else(|| ParseError::new("a mask of capabilities", text))
}

/// The effective user id of /proc/PID/status: `Uid:	REAL	EFFECTIVE	SAVED	FILESYSTEM`.
pub(crate) fn parse_euid(text: &str) -> Result<u32, ParseError> {
    field(text, "Uid")
        .and_then(|value| value.split_whitespace().nth(1)?.parse().ok())
        .ok_or_else(|| ParseError::new("user ids", text))
}

/// True where /proc/PID/uid_map is that of a user namespace: the first one maps every id to itself.
pub(crate) fn parse_uid_map(text: &str) -> Result<bool, ParseError> {
    let numbers: Option<Vec<u32>> = text.split_whitespace().map(|n| n.parse().ok()).collect();
    match numbers {
        Some(numbers) if numbers.is_empty() || numbers.len() % 3 != 0 => {
            Err(ParseError::new("a map of user ids", text))
        }
        Some(numbers) => Ok(numbers != [0, 0, u32::MAX]),
        None => Err(ParseError::new("a map of user ids", text)),
    }
}

/// An amount of /proc/meminfo in kB; `None` where there is no such line.
pub(crate) fn parse_meminfo(text: &str, name: &str) -> Result<Option<u64>, ParseError> {
    let Some(value) = field(text, name) else {
        return Ok(None);
    };
    value
        .strip_suffix("kB")
        .unwrap_or(value)
        .trim()
        .parse()
        .map(Some)
        .map_err(|_| ParseError::new("an amount of memory", value))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

/// Size and free bytes from `df -B1 --output=size,used,avail`.
pub(crate) fn parse_df(text: &str) -> Result<(u64, u64), ParseError> {
    let numbers: Option<Vec<u64>> = text
        .lines()
        .rfind(|l| !l.trim().is_empty())
        .and_then(|l| l.split_whitespace().map(|n| n.parse().ok()).collect());
    match numbers.as_deref() {
        Some([size, _, available]) => Ok((*size, *available)),
        _ => Err(ParseError::new("`df` output", text)),
    }
}

/// What /proc/mounts says of the size of a file system in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountSize {
    /// Nothing is mounted there.
    NotMounted,
    /// It has no `size=`: half of the memory, for a tmpfs.
    Unsaid,
    /// So many bytes.
    Bytes(u64),
}

/// Finds the `size=` of what is mounted at a place; of several mounts over each other the last one counts.
pub(crate) fn parse_mount_size(text: &str, place: &str) -> Result<MountSize, ParseError> {
    let options = text.lines().rev().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[_, at, _, options, ..] = fields.as_slice() else {
            return None;
        };
        (at == place).then_some(options)
    });
    let Some(options) = options else {
        return Ok(MountSize::NotMounted);
    };
    let Some(size) = options.split(',').find_map(|o| o.strip_prefix("size=")) else {
        return Ok(MountSize::Unsaid);
    };
    let wrong = || ParseError::new("the size of a file system", size);
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &size[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .map(MountSize::Bytes)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_names_with_blanks() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max cpu time              unlimited            unlimited            seconds   \n\
                    Max locked memory         8388608              unlimited            bytes     \n\
                    Max open files            1024                 1048576              files     \n";
        assert_eq!(
            parse_limit(text, "Max locked memory").unwrap(),
            (Limit::Value(8_388_608), Limit::Unlimited)
        );
        assert_eq!(
            parse_limit(text, "Max open files").unwrap(),
            (Limit::Value(1024), Limit::Value(1_048_576))
        );
        assert!(parse_limit(text, "Max nice priority").is_err());
        assert!(parse_limit("Max open files few", "Max open files").is_err());
    }

    #[test]
    fn capabilities_and_users_of_a_process() {
        let text = "Name:\tx\nUid:\t1000\t0\t1000\t1000\nCapEff:\t00000000a80425fb\n";
        assert_eq!(parse_capabilities(text, "CapEff").unwrap(), 0xa804_25fb);
        assert_eq!(parse_euid(text).unwrap(), 0);
        assert!(parse_capabilities(text, "CapBnd").is_err());
        assert!(parse_euid("Uid:\tx\n").is_err());
    }

    #[test]
    fn the_first_user_namespace_maps_all_ids() {
        assert!(!parse_uid_map("         0          0 4294967295").unwrap());
        assert!(parse_uid_map("         0       1000          1\n 1 100000 65536").unwrap());
        assert!(parse_uid_map("").is_err());
        assert!(parse_uid_map("0 0").is_err());
    }

    #[test]
    fn memory_in_kilobytes() {
        let text =
            "MemTotal:       125542400 kB\nCmaTotal:              0 kB\nHugePages_Total:       3\n";
        assert_eq!(parse_meminfo(text, "CmaTotal").unwrap(), Some(0));
        assert_eq!(parse_meminfo(text, "HugePages_Total").unwrap(), Some(3));
        assert_eq!(parse_meminfo(text, "Cma").unwrap(), None);
        assert!(parse_meminfo("CmaTotal: x kB", "CmaTotal").is_err());
    }

    #[test]
    fn sizes_of_dev_shm() {
        let df =
            "     1B-blocks         Used        Avail\n      67108864            0     67108864\n";
        assert_eq!(parse_df(df).unwrap(), (67_108_864, 67_108_864));
        assert!(parse_df("df: /dev/shm: No such file or directory\n").is_err());
        assert!(parse_df("").is_err());
        let size = |text| parse_mount_size(text, "/dev/shm");
        assert_eq!(
            size("tmpfs /dev/shm tmpfs rw,size=65536k 0 0\n").unwrap(),
            MountSize::Bytes(64 << 20)
        );
        assert_eq!(
            size("a /dev/shm tmpfs size=1k 0 0\nb /dev/shm tmpfs rw 0 0\n").unwrap(),
            MountSize::Unsaid
        );
        assert_eq!(
            size("proc /proc proc rw 0 0").unwrap(),
            MountSize::NotMounted
        );
        assert!(size("a /dev/shm tmpfs size=half 0 0").is_err());
        assert!(size("a /dev/shm tmpfs size=99999999999999999g 0 0").is_err());
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = (parse_limit(&format!("Max open files {text}"), "Max open files"), parse_df(&text));
            let _ = (parse_capabilities(&format!("CapEff:{text}"), "CapEff"), parse_euid(&format!("Uid:{text}")));
            let _ = (parse_uid_map(&text), parse_meminfo(&format!("CmaTotal:{text}"), "CmaTotal"));
            let _ = parse_mount_size(&format!("a /dev/shm tmpfs size={text} 0 0"), "/dev/shm");
        }
    }
}
