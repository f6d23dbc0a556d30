//! Tests of the precedence and of the file syntax.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{ConfigFile, Origin, Settings, candidates, parse_file};
use crate::nccl::release::Release;

const OLD: Release = Release::new(2, 21, 5);
const MIDDLE: Release = Release::new(2, 27, 7);
const NEW: Release = Release::new(2, 30, 7);

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

fn resolve(pairs: &[(&str, &str)], files: &[(&str, &str)], release: Release) -> Settings {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| ConfigFile {
            path: (*path).into(),
            text: (*text).into(),
        })
        .collect();
    Settings::resolve(&environment(pairs), &files, release)
}

fn value(text: &str, release: Release) -> Option<String> {
    resolve(&[], &[("/etc/nccl.conf", text)], release)
        .get("NCCL_X")
        .map(str::to_owned)
}

#[test]
fn the_own_file_comes_before_the_systems() {
    let none = environment(&[]);
    assert_eq!(
        candidates(&none, Some("/root"), MIDDLE),
        ["/root/.nccl.conf", "/etc/nccl.conf"]
    );
    assert_eq!(candidates(&none, None, MIDDLE), ["/etc/nccl.conf"]);
}

#[test]
fn a_named_file_replaces_the_own_one_where_the_release_knows_it() {
    let named = environment(&[("NCCL_CONF_FILE", "~/my.conf")]);
    assert_eq!(
        candidates(&named, Some("/root"), MIDDLE),
        ["~/my.conf", "/etc/nccl.conf"]
    );
    assert_eq!(
        candidates(&named, Some("/root"), OLD),
        ["/root/.nccl.conf", "/etc/nccl.conf"]
    );
    let empty = environment(&[("NCCL_CONF_FILE", "")]);
    assert_eq!(
        candidates(&empty, Some("/root"), MIDDLE),
        ["/root/.nccl.conf", "/etc/nccl.conf"]
    );
}

#[test]
fn the_home_directory_is_the_password_files_or_the_variables() {
    let home = environment(&[("HOME", "/run/home")]);
    assert_eq!(
        candidates(&home, Some("/root"), MIDDLE),
        ["/root/.nccl.conf", "/etc/nccl.conf"]
    );
    assert_eq!(
        candidates(&home, Some("/root"), NEW),
        ["/run/home/.nccl.conf", "/etc/nccl.conf"]
    );
    assert_eq!(
        candidates(&environment(&[]), Some("/root"), NEW),
        ["/etc/nccl.conf"]
    );
}

#[test]
fn the_first_definition_wins_and_the_others_are_known() {
    let settings = resolve(
        &[("NCCL_A", "1")],
        &[
            ("/root/.nccl.conf", "NCCL_A=2\nNCCL_B=3\nNCCL_B=4\n"),
            ("/etc/nccl.conf", "NCCL_B=5"),
        ],
        MIDDLE,
    );
    let a = settings.setting("NCCL_A").unwrap();
    assert_eq!(
        (a.effective.value.as_str(), &a.effective.origin),
        ("1", &Origin::Environment)
    );
    assert_eq!(
        a.shadowed
            .iter()
            .map(|d| d.value.as_str())
            .collect::<Vec<_>>(),
        ["2"]
    );
    let b = settings.setting("NCCL_B").unwrap();
    assert_eq!(b.effective.value, "3");
    assert_eq!(b.effective.origin.to_string(), "/root/.nccl.conf:2");
    assert_eq!(
        b.shadowed
            .iter()
            .map(|d| d.origin.to_string())
            .collect::<Vec<_>>(),
        ["/root/.nccl.conf:3", "/etc/nccl.conf:1"]
    );
}

#[test]
fn an_empty_variable_blocks_the_files() {
    let settings = resolve(&[("NCCL_X", "")], &[("/etc/nccl.conf", "NCCL_X=3")], MIDDLE);
    assert_eq!(settings.get("NCCL_X"), Some(""));
    assert_eq!(settings.integer("NCCL_X", -1), -1);
}

#[test]
fn nothing_is_trimmed_or_unquoted() {
    assert_eq!(value("NCCL_X==a", MIDDLE).as_deref(), Some("=a"));
    assert_eq!(value("NCCL_X= a ", MIDDLE).as_deref(), Some(" a "));
    assert_eq!(
        value("NCCL_X=\"a\" # b", MIDDLE).as_deref(),
        Some("\"a\" # b")
    );
    for text in [
        " NCCL_X=a",
        "export NCCL_X=a",
        "NCCL_X =a",
        "NCCL_X",
        "=a",
        "",
    ] {
        assert_eq!(value(text, MIDDLE), None, "{text}");
    }
    assert_eq!(value("NCCL_X\nNCCL_X=a", MIDDLE).as_deref(), Some("a"));
}

#[test]
fn comments_start_in_the_first_column_where_there_are_any() {
    let keys = |release| -> Vec<_> {
        parse_file("#NCCL_X=1\n # NCCL_X=2", release)
            .into_iter()
            .map(|l| l.key)
            .collect()
    };
    assert_eq!(keys(OLD), ["#NCCL_X", " # NCCL_X"]);
    assert_eq!(keys(MIDDLE), [" # NCCL_X"]);
}

#[test]
fn a_carriage_return_stays_before_releases_that_drop_it() {
    assert_eq!(value("NCCL_X=a\r\n", MIDDLE).as_deref(), Some("a\r"));
    assert_eq!(value("NCCL_X=a\r\n", NEW).as_deref(), Some("a"));
}

#[test]
fn long_texts_are_cut_where_the_buffers_end() {
    let long = "a".repeat(5000);
    assert_eq!(
        value(&format!("NCCL_X={long}"), MIDDLE).map(|v| v.len()),
        Some(1023)
    );
    let padded = format!("{}\nNCCL_X=1", "b".repeat(4095) + "NCCL_X=2");
    assert_eq!(value(&padded, MIDDLE).as_deref(), Some("1"));
    assert_eq!(value(&padded, NEW).as_deref(), Some("2"));
    assert_eq!(value("NCCL_X=a\0b", MIDDLE).as_deref(), Some("a"));
}

#[test]
fn setting_and_unsetting_leave_the_files_alone() {
    let mut settings = resolve(
        &[("NCCL_X", "1")],
        &[("/etc/nccl.conf", "NCCL_X=3")],
        MIDDLE,
    );
    settings.set("NCCL_X", "2");
    assert_eq!(settings.get("NCCL_X"), Some("2"));
    settings.unset("NCCL_X");
    assert_eq!(settings.get("NCCL_X"), Some("3"));
    settings.unset("NCCL_X");
    assert_eq!(settings.get("NCCL_X"), Some("3"));
    settings.set("NCCL_X", "");
    assert_eq!(settings.get("NCCL_X"), Some(""));
    assert_eq!(settings.setting("NCCL_X").unwrap().shadowed.len(), 1);
    assert_eq!(settings.iter().count(), 1);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        for release in [OLD, MIDDLE, NEW] {
            parse_file(&text, release);
        }
    }

    #[test]
    fn what_is_written_is_read(key in "[A-Z_]{1,20}", value in "[ -~]{0,40}") {
        let lines = parse_file(&format!("{key}={value}\n"), NEW);
        prop_assert_eq!(lines.len(), 1);
        prop_assert_eq!(&lines[0].key, &key);
        prop_assert_eq!(&lines[0].value, &value);
    }
}
