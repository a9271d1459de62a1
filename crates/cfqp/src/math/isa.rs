//! The instruction set that kernels use.
//!
//! Kernels are compiled for three instruction sets. The widest that the processor has is used, unless the environment
//! variable `CFQP_ISA` names another, which is read once.

use std::sync::OnceLock;

use crate::{Error, Result};

/// The environment variable that selects an instruction set.
const VARIABLE: &str = "CFQP_ISA";

/// An instruction set, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Isa {
    /// The baseline of the target: SSE2 on x86-64.
    Portable,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512: F, VL, DQ and BW.
    Avx512,
}

impl Isa {
    const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Those that this processor has, from the narrowest.
    pub(crate) fn supported() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|isa| *isa <= Self::widest())
    }

    /// The widest that this processor has.
    pub(crate) fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") {
                let wide = has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw");
                return if wide { Self::Avx512 } else { Self::Avx2 };
            }
        }
        Self::Portable
    }

    /// The one in use; never wider than [`widest`](Self::widest).
    #[inline]
    pub(crate) fn active() -> Self {
        static SELECTED: OnceLock<Isa> = OnceLock::new();
        #[cfg(test)]
        if let Some(isa) = testing::forced() {
            return isa;
        }
        // a value that is not valid is an error before anything is computed: see `validate`
        *SELECTED.get_or_init(|| requested().unwrap_or_else(|_| Self::widest()))
    }

    /// Checks the environment variable.
    ///
    /// # Errors
    /// [`Error::Config`] if it names no instruction set or one that this processor lacks.
    pub(crate) fn validate() -> Result<()> {
        requested().map(drop)
    }

    /// The name in the environment variable.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

fn requested() -> Result<Isa> {
    match std::env::var_os(VARIABLE) {
        None => Ok(Isa::widest()),
        Some(value) => parse(&value.to_string_lossy()),
    }
}

fn parse(value: &str) -> Result<Isa> {
    let names: Vec<&str> = Isa::supported().map(Isa::name).collect();
    let hint = format!("use {}, or unset {VARIABLE}", names.join(", "));
    match Isa::ALL.into_iter().find(|isa| isa.name() == value) {
        None => Err(Error::config(VARIABLE, format!("there is no instruction set {value:?}"), hint)),
        Some(isa) if isa > Isa::widest() => {
            Err(Error::config(VARIABLE, format!("this processor does not have {value}"), hint))
        }
        Some(isa) => Ok(isa),
    }
}

/// Runs code with each instruction set in one process.
#[cfg(test)]
pub(crate) mod testing {
    use std::cell::Cell;

    use super::Isa;

    thread_local! {
        static FORCED: Cell<Option<Isa>> = const { Cell::new(None) };
    }

    pub(super) fn forced() -> Option<Isa> {
        FORCED.get()
    }

    /// Runs `f` with every instruction set of this processor, on `threads` threads; from the narrowest.
    pub(crate) fn with_each_isa<R: Send>(threads: usize, f: impl Fn() -> R + Sync) -> Vec<(Isa, R)> {
        let run = |isa| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.start_handler(move |_| FORCED.set(Some(isa))).build().unwrap();
            (isa, pool.install(&f))
        };
        Isa::supported().map(run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_supported_instruction_sets_are_accepted() {
        for isa in Isa::ALL {
            assert_eq!(parse(isa.name()).ok(), (isa <= Isa::widest()).then_some(isa));
        }
        for wrong in ["", "AVX2", "sse2", "avx512 "] {
            let error = parse(wrong).unwrap_err();
            assert!(error.to_string().starts_with("CFQP_ISA: there is no instruction set "), "{error}");
            assert!(error.hint().unwrap().starts_with("use portable"));
        }
    }

    #[test]
    fn every_thread_of_a_test_uses_the_forced_instruction_set() {
        for (isa, used) in testing::with_each_isa(3, || rayon::broadcast(|_| Isa::active())) {
            assert_eq!(used, [isa; 3]);
        }
    }
}
