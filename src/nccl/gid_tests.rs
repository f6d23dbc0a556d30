//! Tests of the GID choice, rule by rule.

use super::{GidChoice, choose};
use crate::model::{GidTable, LinkLayer, Port, Unread, Why};
use crate::nccl::fixture::{absent, gid, port, settings, table};
use crate::nccl::outcome::{Code, Crash};
use crate::nccl::release::Release;

const FIXED: Release = Release::new(2, 20, 5);
const FIRST: Release = Release::new(2, 21, 5);
const NEW: Release = Release::new(2, 27, 7);

const CLASSIC: &[&str] = &[
    "0 fe80::1 v1",
    "1 fe80::1 v2",
    "2 ::ffff:10.0.0.1 v1",
    "3 ::ffff:10.0.0.1 v2",
];
const V6_ONLY: &[&str] = &[
    "0 fe80::1 v1",
    "1 fe80::1 v2",
    "2 fd00::1 v1",
    "3 fd00::1 v2",
];
const TWO: &[&str] = &[
    "0 fe80::1 v1",
    "1 fe80::1 v2",
    "2 ::ffff:10.0.0.1 v1",
    "3 ::ffff:10.0.0.1 v2",
    "4 ::ffff:192.168.0.1 v1",
    "5 ::ffff:192.168.0.1 v2",
];

fn roce(rows: &[&str]) -> Port {
    port(1, LinkLayer::Ethernet, rows)
}

fn chosen(port: &Port, environment: &str, release: Release) -> GidChoice {
    choose(port, &settings(environment), release).unwrap()
}

fn index(rows: &[&str], environment: &str) -> i32 {
    let choice = chosen(&roce(rows), environment, NEW);
    assert!(choice.result.is_success());
    choice.index.unwrap()
}

#[test]
fn the_first_usable_ipv4_address_of_the_version_wins() {
    assert_eq!(index(CLASSIC, ""), 3);
    assert_eq!(index(CLASSIC, "NCCL_IB_ROCE_VERSION_NUM=1"), 2);
    assert_eq!(index(TWO, ""), 3);
    assert_eq!(index(&["0 fe80::1 v2", "1 ::ffff:10.0.0.1 v2"], ""), 1);
    assert_eq!(
        index(
            &[
                "6 ::ffff:10.0.0.1 v1",
                "7 ::ffff:10.0.0.1 v2",
                "8 fe80::1 v1"
            ],
            ""
        ),
        7
    );
}

#[test]
fn a_version_one_row_is_taken_where_there_is_nothing_else() {
    assert_eq!(index(&["0 fe80::1 v1", "1 ::ffff:10.0.0.1 v1"], ""), 1);
}

#[test]
fn link_local_ipv4_is_as_good_as_any() {
    assert_eq!(
        index(
            &[
                "0 fe80::1 v2",
                "1 ::ffff:169.254.0.1 v2",
                "2 ::ffff:10.0.0.1 v2"
            ],
            ""
        ),
        1
    );
}

#[test]
fn ipv6_needs_its_family() {
    assert_eq!(index(V6_ONLY, ""), 0);
    assert_eq!(index(V6_ONLY, "NCCL_IB_ADDR_FAMILY=AF_INET6"), 3);
    assert_eq!(index(V6_ONLY, "NCCL_IB_ADDR_FAMILY=ipv6"), 0);
}

#[test]
fn ipv6_lands_on_an_empty_row_where_row_zero_is_ipv4() {
    let choice = chosen(
        &roce(&["0 ::ffff:10.0.0.1 v2"]),
        "NCCL_IB_ADDR_FAMILY=AF_INET6",
        NEW,
    );
    assert_eq!((choice.index, choice.value), (Some(1), Some(gid("::"))));
}

#[test]
fn a_range_moves_the_choice_unless_row_zero_fits_already() {
    let range = "NCCL_IB_ADDR_RANGE=192.168.0.0/16";
    assert_eq!(index(TWO, range), 5);
    assert_eq!(
        index(&["0 ::ffff:10.0.0.1 v2", "1 ::ffff:192.168.0.1 v2"], range),
        0
    );
    assert_eq!(index(TWO, "NCCL_IB_ADDR_RANGE=10.0.0.0/-1"), 0);
}

#[test]
fn a_fixed_index_is_not_checked() {
    assert_eq!(index(CLASSIC, "NCCL_IB_GID_INDEX=auto"), 0);
    assert_eq!(index(CLASSIC, "NCCL_IB_GID_INDEX=4294967297"), 1);
    assert_eq!(index(CLASSIC, "NCCL_IB_GID_INDEX=-5"), 3);
    let empty = chosen(&roce(CLASSIC), "NCCL_IB_GID_INDEX=7", NEW);
    assert_eq!((empty.value, empty.guaranteed), (Some(gid("::")), true));
    let outside = chosen(&roce(CLASSIC), "NCCL_IB_GID_INDEX=16", NEW);
    assert_eq!((outside.value, outside.guaranteed), (None, true));
}

#[test]
fn releases_without_a_choice_use_zero_and_take_negative_numbers_as_they_are() {
    assert_eq!(chosen(&roce(CLASSIC), "", FIXED).index, Some(0));
    let negative = chosen(&roce(CLASSIC), "NCCL_IB_GID_INDEX=-1", FIXED);
    assert_eq!((negative.index, negative.value), (Some(-1), None));
}

#[test]
fn a_range_without_slash_ends_some_releases_when_they_choose() {
    let range = "NCCL_IB_ADDR_RANGE=10.0.0.1";
    let result =
        |environment: &str, release| choose(&roce(CLASSIC), &settings(environment), release);
    assert_eq!(result(range, FIRST), Err(Crash::RangeWithoutSlash));
    assert!(result(range, NEW).is_ok());
    assert!(result(&format!("{range} NCCL_IB_GID_INDEX=3"), FIRST).is_ok());
}

#[test]
fn an_unreadable_type_is_an_error_before_it_is_tolerated() {
    let rows = &[
        "0 fe80::1 v2",
        "1 ::ffff:10.0.0.1 ?",
        "2 ::ffff:10.0.0.2 v2",
    ];
    let old = chosen(&roce(rows), "", FIRST);
    assert_eq!((old.index, old.result), (Some(1), Code::SystemError));
    let new = chosen(&roce(rows), "", NEW);
    // The version of row 1 is whatever was in memory.
    assert_eq!(
        (new.index, new.result, new.guaranteed),
        (Some(2), Code::Success, false)
    );
}

#[test]
fn a_refused_type_is_always_an_error() {
    let rows = &[
        "0 fe80::1 v2",
        "1 ::ffff:10.0.0.1 !",
        "2 ::ffff:10.0.0.2 v2",
    ];
    assert_eq!(chosen(&roce(rows), "", NEW).result, Code::SystemError);
}

#[test]
fn empty_rows_need_no_type_where_the_row_is_not_valid_anyway() {
    let rows = &["3 ::ffff:10.0.0.1 v1", "5 ::ffff:10.0.0.1 v2"];
    let choice = chosen(&roce(rows), "", NEW);
    assert_eq!((choice.index, choice.guaranteed), (Some(5), true));
}

#[test]
fn an_unknown_type_counts_as_no_version() {
    let rows = &[
        "0 fe80::1 v2",
        "1 ::ffff:10.0.0.1 v2",
        "2 ::ffff:10.0.0.2 RoCE-v3",
    ];
    let new = chosen(&roce(rows), "", NEW);
    assert_eq!((new.index, new.guaranteed), (Some(1), true));
    assert!(!chosen(&roce(rows), "", FIRST).guaranteed);
}

#[test]
fn infiniband_has_no_gid_before_flids_and_row_zero_after() {
    let ib = port(1, LinkLayer::InfiniBand, &["0 fe80::2 v1"]);
    assert_eq!(chosen(&ib, "NCCL_IB_GID_INDEX=3", FIRST).index, None);
    assert_eq!(chosen(&ib, "NCCL_IB_GID_INDEX=3", NEW).index, Some(0));
}

#[test]
fn an_flid_is_found_at_the_routable_index() {
    let ib = port(
        1,
        LinkLayer::InfiniBand,
        &["0 fe80::2 v1", "1 fec0:0:5::2 v1"],
    );
    let flid = "NCCL_IB_ROUTABLE_FLID_GID_INDEX";
    assert_eq!(chosen(&ib, "", NEW).index, Some(1));
    assert_eq!(chosen(&ib, &format!("{flid}=0"), NEW).index, Some(0));
    assert_eq!(chosen(&ib, &format!("{flid}=99"), NEW).index, Some(0));
    let negative = chosen(&ib, &format!("{flid}=-1"), NEW);
    assert_eq!(
        (negative.index, negative.result),
        (Some(-1), Code::SystemError)
    );
}

#[test]
fn what_was_not_read_is_not_guaranteed() {
    let mut short = roce(CLASSIC);
    short.gids = Ok(GidTable {
        len: None,
        ..table(CLASSIC)
    });
    let walked = chosen(&short, "", NEW);
    assert_eq!((walked.index, walked.guaranteed), (Some(3), false));
    assert!(chosen(&short, "NCCL_IB_GID_INDEX=3", NEW).guaranteed);
    let beyond = chosen(&short, "NCCL_IB_GID_INDEX=4", NEW);
    assert_eq!((beyond.value, beyond.guaranteed), (None, false));

    let mut holed = roce(CLASSIC);
    holed.gids = Ok(GidTable {
        unread: vec![(9, Unread::new("gids/9", Why::Errno(5)))],
        ..table(CLASSIC)
    });
    assert!(!chosen(&holed, "", NEW).guaranteed);
    assert!(!chosen(&holed, "NCCL_IB_GID_INDEX=9", NEW).guaranteed);

    let mut none = roce(CLASSIC);
    none.gids = absent();
    let unknown = chosen(&none, "", NEW);
    assert_eq!((unknown.value, unknown.guaranteed), (None, false));
}
