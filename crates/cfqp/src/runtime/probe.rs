//! A small computation, which fails at once on a device that cannot be used.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Device, Tensor};

use crate::{Error, Result};

/// Computes a sum on `device` and reads it back: devices are opened by their first operation, which panics if there is
/// none.
///
/// # Errors
/// [`Error::Config`] if that fails.
pub(super) fn probe(device: &Device, name: &str) -> Result<()> {
    let sum = || Tensor::<1>::ones([3], device).sum().into_data().try_into_vec::<f32>().ok();
    match catch_unwind(AssertUnwindSafe(sum)) {
        Ok(Some(sum)) if sum == [3.0] => Ok(()),
        _ => {
            let hint = "check its driver, or use the device cpu";
            Err(Error::config("device", format!("{name} cannot compute on this machine"), hint))
        }
    }
}
