//! The K mean functions m_k(x, t), as K networks or as one that is told the class.

use burn::tensor::Device;

use super::pool::Pool;
use crate::data::{Batcher, Told};
use crate::models::{Net, Network};

/// The mean of every class.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    /// One network per class, or one for all.
    pub nets: Vec<Net>,
    pub classes: usize,
}

impl Components {
    /// What to tell the network that serves class `k`, and that network.
    pub fn net(&self, k: usize) -> (&Net, Told<'static>) {
        if self.nets.len() == self.classes {
            (&self.nets[k], Told::Nothing)
        } else {
            (&self.nets[0], Told::All(k, self.classes))
        }
    }

    /// m_k(x, t) of `rows`, standardised, under their own treatments or under `t`.
    ///
    /// # Shapes
    /// `[n, y elements]`, flat
    pub fn mean(
        &self,
        k: usize,
        batcher: &Batcher<'_>,
        rows: &[usize],
        t: Option<&[f32]>,
        device: &Device,
    ) -> Vec<f32> {
        let (net, told) = self.net(k);
        let t = t.map_or_else(|| batcher.treatments(rows), <[f32]>::to_vec);
        let output = net.forward(&batcher.input_under(rows, t, told, device));
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
    let mut residuals = vec![0.0; rows.len() * batcher.scaler.y.each()];
    let at_once = batcher.at_once();
    let jobs = rows.chunks(at_once).zip(residuals.chunks_mut(at_once * batcher.scaler.y.each()));
    pool.map(jobs.collect(), |(rows, residual)| {
        let (y, mean) = (batcher.outcomes(rows), one.mean(0, batcher, rows, None, device));
        residual.iter_mut().zip(y.iter().zip(mean)).for_each(|(r, (y, mean))| *r = y - mean);
        for (residual, &row) in residual.chunks_exact_mut(batcher.scaler.y.each()).zip(rows) {
            if let Some(mask) = batcher.data.y().mask_row(row) {
                let hidden = residual.iter_mut().zip(mask).filter(|(_, observed)| !**observed);
                hidden.for_each(|(residual, _)| *residual = 0.0);
            }
        }
    });
    residuals
}
