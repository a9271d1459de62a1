//! What a fit or a query runs on: no effect on its result.

use std::path::PathBuf;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Kinds of device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The processor; needs nothing installed.
    #[default]
    Cpu,
    /// A graphics card by way of Vulkan, Metal, DirectX or WebGPU.
    Wgpu,
    /// A graphics card by way of CUDA.
    Cuda,
}

impl DeviceKind {
    /// The device, if this build has it.
    pub fn open(self) -> Result<Device> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
            #[cfg(feature = "cuda")]
            Self::Cuda => Ok(Device::cuda(0)),
            #[allow(unreachable_patterns, reason = "all kinds may be built in")]
            other => {
                let name = format!("{other:?}").to_lowercase();
                let hint = format!("build it in with `--features {name}`, or use the device cpu");
                Err(Error::config("device", format!("this build has no {name}"), hint))
            }
        }
    }
}

/// Threads, device and checkpoint.
#[derive(Clone, Debug)]
pub struct Resources {
    /// How many threads.
    pub threads: usize,
    /// Where tensors live.
    pub device: Device,
    /// Where a fit keeps what it has finished; the caller's to remove once the model is safe.
    pub checkpoint: Option<PathBuf>,
    /// Whether to go on from the checkpoint, rather than start over.
    pub resume: bool,
}

impl Default for Resources {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { threads, device: Device::flex(), checkpoint: None, resume: false }
    }
}
