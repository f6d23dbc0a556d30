//! What an existing configuration would do on this node, beside what `env` would choose: pure.
//!
//! `sources` says where settings stand, `analysis` runs them through the NCCL model, `list` and `number` say what NCCL makes of
//! a value that people write. The findings themselves are the checks of the family `env`.

mod analysis;
mod edit;
mod envfile;
mod known;
mod list;
mod number;
mod sources;

pub(crate) use analysis::{Analysis, Judged, RowFault, Used, row_fault};
pub(crate) use edit::{edit_distance, nearest};
pub(crate) use envfile::{Remark, parse_env_file};
pub(crate) use known::{is_adoptable, is_known_variable, is_setting};
pub(crate) use list::{DeadEntry, Why, dead_entries, describe};
pub(crate) use number::{NumberFault, judge_number};
pub(crate) use sources::{Sources, parse_environ};
