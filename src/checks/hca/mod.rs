//! The checks of the family `hca`.

mod count;
mod far_from_gpu;
mod fewer_than_gpus;
mod firmware_differs;
mod main_carries_data;
mod more_than_32;
mod no_data_port;
mod pf_and_vf;
mod uverbs_denied;
mod uverbs_missing;

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &no_data_port::NO_DATA_PORT,
    &main_carries_data::MAIN_CARRIES_DATA,
    &uverbs_missing::UVERBS_MISSING,
    &uverbs_denied::UVERBS_DENIED,
    &count::COUNT,
    &fewer_than_gpus::FEWER_THAN_GPUS,
    &far_from_gpu::FAR_FROM_GPU,
    &pf_and_vf::PF_AND_VF,
    &more_than_32::MORE_THAN_32,
    &firmware_differs::FIRMWARE_DIFFERS,
];
