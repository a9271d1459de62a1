//! Threads, device and checkpoint.

use std::path::PathBuf;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::math::isa::Isa;
use crate::{Error, Result};

/// The kinds of device that networks run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The processor.
    #[default]
    Cpu,
    /// A graphics card through Vulkan, Metal, DirectX or WebGPU. Needs the feature `wgpu`.
    Wgpu,
    /// A graphics card through CUDA. Needs the feature `cuda`.
    Cuda,
}

impl DeviceKind {
    /// The name in settings and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wgpu => "wgpu",
            Self::Cuda => "cuda",
        }
    }

    /// Whether this build supports the device.
    pub fn is_available(self) -> bool {
        match self {
            Self::Cpu => true,
            Self::Wgpu => cfg!(feature = "wgpu"),
            Self::Cuda => cfg!(feature = "cuda"),
        }
    }

    /// Checks that the device can be opened, and for the processor that `CFQP_ISA`, if set, names one of its instruction
    /// sets.
    ///
    /// # Errors
    /// [`Error::Config`] if this build does not support the device, or there is none.
    pub fn validate(self) -> Result<()> {
        self.open().map(drop)
    }

    /// Opens the device and describes it: its name, its driver and the interface to it, such as Vulkan. None for devices
    /// of which there is nothing to tell.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn describe(self) -> Result<Option<String>> {
        #[cfg(feature = "wgpu")]
        if self == Self::Wgpu {
            return super::graphics::open().map(|card| Some(card.description));
        }
        self.validate().map(|()| None)
    }

    /// Opens the device.
    pub(crate) fn open(self) -> Result<Device> {
        match self {
            Self::Cpu => Isa::validate().map(|()| Device::flex()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => super::graphics::open().map(|card| card.device),
            #[cfg(feature = "cuda")]
            Self::Cuda => {
                let device = Device::cuda(0);
                super::probe::probe(&device, "cuda").map(|()| device)
            }
            #[allow(unreachable_patterns, reason = "a build may have all kinds")]
            other => {
                let hint = format!("build with the feature `{}`, or use the device cpu", other.name());
                Err(Error::config("device", format!("this build does not support {}", other.name()), hint))
            }
        }
    }
}

/// The threads, the device, the checkpoint and the memory of a fit or a query. Only the memory affects results, where a table
/// does not fit in it.
///
/// ```
/// let two_threads = cfqp::Resources { threads: 2, ..cfqp::Resources::default() };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Resources {
    /// The number of threads.
    pub threads: usize,
    /// The device that networks run on.
    pub device: DeviceKind,
    /// The file to which a fit appends finished jobs. The caller removes it once the model is saved.
    pub checkpoint: Option<PathBuf>,
    /// Whether to resume from the checkpoint instead of starting over.
    pub resume: bool,
    /// The memory of a fit to a table, in bytes: if it would need more, rows are put into a temporary file, and the model is
    /// another one. 4 GB unless given, and not more than [`memory_limit`](crate::data::memory_limit).
    pub memory: Option<u64>,
}

impl Default for Resources {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { threads, device: DeviceKind::Cpu, checkpoint: None, resume: false, memory: None }
    }
}
