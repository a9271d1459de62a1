//! Standardised batches for a network, gathered when they are needed.

use burn::tensor::{Device, Tensor};

use super::{Dataset, Moments, Scaler, Units};
use crate::models::Input;
use crate::nn::tensor;

/// Gathers units of a data set, standardises them and puts them on a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batcher<'a> {
    pub data: &'a Dataset,
    pub scaler: &'a Scaler,
    /// Whether the networks expect an indicator of missing x.
    pub missing: bool,
}

/// Standardised outcomes `[n, y elements]`, with 1 where observed, where some are not.
pub(crate) struct Target {
    pub y: Tensor<2>,
    pub observed: Option<Tensor<2>>,
}

/// What a network is told of the class of its units.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told<'a> {
    /// Nothing: the network serves one class, or knows of none.
    Nothing,
    /// Each row of the data set has its own label, of so many classes.
    Each(&'a [usize], usize),
    /// All rows are of this class, of so many.
    All(usize, usize),
}

impl Told<'_> {
    fn one_hot(self, rows: &[usize], device: &Device) -> Option<Tensor<2>> {
        let classes = match self {
            Self::Nothing => return None,
            Self::Each(_, classes) | Self::All(_, classes) => classes,
        };
        let mut values = vec![0.0; rows.len() * classes];
        for (i, &row) in rows.iter().enumerate() {
            let class = match self {
                Self::Each(labels, _) => labels[row],
                Self::All(class, _) => class,
                Self::Nothing => continue,
            };
            values[i * classes + class] = 1.0;
        }
        Some(tensor(values, [rows.len(), classes], device))
    }
}

/// Steps or pixels that go through a network at once when nothing is learned, about ...
const AT_ONCE: usize = 50_000;
/// ... but never more units than this.
const MOST_UNITS: usize = 256;

impl Batcher<'_> {
    /// Units that go through a network at once when nothing is learned: fewer of images, whose layers are large.
    pub fn at_once(&self) -> usize {
        (AT_ONCE / self.scaler.y.sites()).clamp(1, MOST_UNITS)
    }

    /// What the networks are told of `rows`.
    pub fn input(&self, rows: &[usize], told: Told<'_>, device: &Device) -> Input {
        let t = self.treatments(rows);
        self.input_under(rows, t, told, device)
    }

    /// As [`input`](Self::input), under other, standardised, treatments.
    pub fn input_under(&self, rows: &[usize], t: Vec<f32>, told: Told<'_>, device: &Device) -> Input {
        let (n, each, d_t) = (rows.len(), self.scaler.x.each(), self.scaler.t.each());
        let x = tensor(self.covariates(rows), [n, each], device);
        let missing = self.missing.then(|| tensor(self.missing_x(rows), [n, each], device));
        Input { x, missing, t: tensor(t, [n, d_t], device), class: told.one_hot(rows, device), dropout: None }
    }

    /// Standardised covariates of `rows`; zero, the training mean, where missing.
    pub fn covariates(&self, rows: &[usize]) -> Vec<f32> {
        gather(self.data.x(), &self.scaler.x, rows)
    }

    /// 1 where x is missing.
    pub fn missing_x(&self, rows: &[usize]) -> Vec<f32> {
        let units = self.data.x();
        let mut missing = Vec::with_capacity(rows.len() * units.each());
        for &row in rows {
            match units.mask_row(row) {
                Some(mask) => missing.extend(mask.iter().map(|&observed| f32::from(u8::from(!observed)))),
                None => missing.resize(missing.len() + units.each(), 0.0),
            }
        }
        missing
    }

    /// Standardised treatments of `rows`.
    pub fn treatments(&self, rows: &[usize]) -> Vec<f32> {
        let mut t = Vec::with_capacity(rows.len() * self.scaler.t.each());
        rows.iter().for_each(|&row| self.scaler.t.standardise_into(self.data.t().row(row), &mut t));
        t
    }

    /// Standardised outcomes of `rows`, as numbers; zero, the training mean, where missing.
    pub fn outcomes(&self, rows: &[usize]) -> Vec<f32> {
        gather(self.data.y(), &self.scaler.y, rows)
    }

    /// How many elements of the outcomes of `rows` were observed.
    pub fn observed(&self, rows: &[usize]) -> usize {
        let units = self.data.y();
        let seen = |&row: &usize| {
            units.mask_row(row).map_or(units.each(), |mask| mask.iter().filter(|m| **m).count())
        };
        rows.iter().map(seen).sum()
    }

    /// Standardised outcomes of `rows`, as tensors.
    pub fn target(&self, rows: &[usize], device: &Device) -> Target {
        let shape = [rows.len(), self.scaler.y.each()];
        let observed = self.data.y().mask().is_some().then(|| {
            let masks = rows.iter().filter_map(|&row| self.data.y().mask_row(row));
            let values = masks.flatten().map(|&observed| f32::from(u8::from(observed))).collect();
            tensor(values, shape, device)
        });
        Target { y: tensor(self.outcomes(rows), shape, device), observed }
    }
}

fn gather(units: &Units, moments: &Moments, rows: &[usize]) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows.len() * units.each());
    for &row in rows {
        moments.standardise_into(&units.unit(row), &mut out);
        if let Some(mask) = units.mask_row(row) {
            let start = out.len() - mask.len();
            let values = out[start..].iter_mut().zip(mask);
            values.filter(|(_, observed)| !**observed).for_each(|(value, _)| *value = 0.0);
        }
    }
    out
}
