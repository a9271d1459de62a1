//! The K mean functions m_k(x, t): one network per class, or one shared network with the class as input.

use burn::tensor::Device;

use crate::models::{Batcher, ClassInput, Net, Network};
use crate::runtime::Pool;

/// The mean outcome of every class.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    /// One network per class, or one for all.
    pub nets: Vec<Net>,
    pub classes: usize,
}

impl Components {
    /// The network of class `k`, and its class input.
    pub(crate) fn network(&self, k: usize) -> (&Net, ClassInput<'static>) {
        if self.nets.len() == self.classes {
            (&self.nets[k], ClassInput::None)
        } else {
            (&self.nets[0], ClassInput::Same { class: k, classes: self.classes })
        }
    }

    /// m_k(x, t) of `rows`, standardised, under their factual treatments or under `t`.
    ///
    /// # Shapes
    /// `[n, y elements]`, flat
    pub(crate) fn mean(
        &self,
        k: usize,
        batcher: &Batcher<'_>,
        rows: &[usize],
        t: Option<&[f32]>,
        device: &Device,
    ) -> Vec<f32> {
        let (net, class) = self.network(k);
        let t = t.map_or_else(|| batcher.treatments(rows), <[f32]>::to_vec);
        let output = net.forward(&batcher.input_under(rows, t, class, device));
        output.into_data().try_into_vec::<f32>().expect("networks are f32")
    }
}

/// y - m_0(x, t) of `rows`, zero where y is missing.
///
/// # Shapes
/// `[n, y elements]`, flat
pub(crate) fn residuals(
    m0: &Net,
    batcher: &Batcher<'_>,
    rows: &[usize],
    device: &Device,
    pool: &Pool,
) -> Vec<f32> {
    let one = Components { nets: vec![m0.clone()], classes: 1 };
    let mut residuals = vec![0.0; rows.len() * batcher.scaler.y.elements()];
    let at_once = batcher.at_once();
    let jobs = rows.chunks(at_once).zip(residuals.chunks_mut(at_once * batcher.scaler.y.elements()));
    pool.map(jobs.collect(), |(rows, residual)| {
        let (y, mean) = (batcher.outcomes(rows), one.mean(0, batcher, rows, None, device));
        residual.iter_mut().zip(y.iter().zip(mean)).for_each(|(r, (y, mean))| *r = y - mean);
        for (residual, &row) in residual.chunks_exact_mut(batcher.scaler.y.elements()).zip(rows) {
            if let Some(mask) = batcher.data.y().mask_row(row) {
                let hidden = residual.iter_mut().zip(mask).filter(|(_, observed)| !**observed);
                hidden.for_each(|(residual, _)| *residual = 0.0);
            }
        }
    });
    residuals
}
