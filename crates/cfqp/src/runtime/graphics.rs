//! The graphics card that `wgpu` picks.

use std::sync::{Mutex, PoisonError};

use burn::tensor::Device;
use burn::tensor::wgpu::wgpu::{AdapterInfo, Backend, DeviceType};

use super::probe::probe;

use crate::{Error, Result};

/// An open graphics card.
#[derive(Clone)]
pub(super) struct Card {
    pub device: Device,
    /// Its name and driver, and the interface to it.
    pub description: String,
}

/// The card of this process: it can be opened once.
static CARD: Mutex<Option<Card>> = Mutex::new(None);

/// Opens the card, or returns the one that is open.
///
/// # Errors
/// [`Error::Config`] if there is none, or its driver refuses.
pub(super) fn open() -> Result<Card> {
    let mut card = CARD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(card) = &*card {
        return Ok(card.clone());
    }
    let (device, setup) = Device::wgpu_options().init_with_setup().map_err(|error| {
        let hint = "install a driver for Vulkan (Debian's mesa-vulkan-drivers has one that needs no graphics card), \
                    or use the device cpu";
        Error::config("device", "wgpu finds no graphics card that can be opened", hint).with_source(error)
    })?;
    probe(&device, "wgpu")?;
    let opened = Card { device, description: describe(&setup.adapter.get_info()) };
    Ok(card.insert(opened).clone())
}

fn describe(adapter: &AdapterInfo) -> String {
    let software =
        if adapter.device_type == DeviceType::Cpu { ", which computes on the processor" } else { "" };
    let through = match adapter.backend {
        Backend::Gl => {
            "OpenGL, because no graphics card with Vulkan, Metal or DirectX 12 was found".to_owned()
        }
        other => format!("{other:?}"),
    };
    let driver = [&*adapter.driver, &*adapter.driver_info].join(" ");
    format!("{}{software}, driver {}, through {through}", adapter.name, driver.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fallback_to_opengl_is_named() {
        let mut adapter = AdapterInfo::new(DeviceType::Cpu, Backend::Gl);
        (adapter.name, adapter.driver_info) = ("llvmpipe".to_owned(), "4.5".to_owned());
        let text = describe(&adapter);
        assert!(
            text.starts_with(
                "llvmpipe, which computes on the processor, driver 4.5, through OpenGL, because"
            )
        );
        adapter.backend = Backend::Vulkan;
        adapter.device_type = DeviceType::DiscreteGpu;
        assert_eq!(describe(&adapter), "llvmpipe, driver 4.5, through Vulkan");
    }
}
