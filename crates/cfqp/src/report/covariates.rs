//! The covariates of units as numbers: columns of a table; of a series or an image, the mean over a channel.

use super::observed::observed_values;
use crate::data::Units;
use crate::data::table::{Block, Feature, Layout, TableForm};
use crate::model::Model;

/// The covariates of some units, one number per unit and column.
pub(super) struct Covariates<'a> {
    x: &'a Units,
    columns: Vec<Column>,
    sites: usize,
}

/// A column of covariates: a channel of x.
struct Column {
    name: String,
    channel: usize,
}

/// What splits units into subgroups: a column, or all levels of a category.
pub(super) struct Splitter {
    pub name: String,
    /// The channels of x, and the names of the levels; a number has one channel and no names.
    pub channels: std::ops::Range<usize>,
    pub levels: Option<Vec<String>>,
}

impl<'a> Covariates<'a> {
    /// The covariates `x` of `model`; none if it has no covariates. Of a category with two levels there is one column.
    pub(super) fn new(model: &Model, x: &'a Units) -> Self {
        let (channels, sites) = (x.shape()[0], x.shape()[1..].iter().product::<usize>());
        let names = match model.layout().is_some_and(|layout| !layout.has_covariates()) {
            true => Vec::new(),
            false => covariate_names(model.layout(), channels, sites),
        };
        let mirrored: Vec<usize> = splitters(model, channels, sites)
            .into_iter()
            .filter(|own| own.levels.is_some() && own.channels.len() == 2)
            .map(|own| own.channels.start)
            .collect();
        let columns = names.into_iter().enumerate().filter(|(channel, _)| !mirrored.contains(channel));
        let columns = columns.map(|(channel, name)| Column { name, channel }).collect();
        Self { x, columns, sites }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The name of column `j`.
    pub(super) fn name(&self, j: usize) -> &str {
        &self.columns[j].name
    }

    /// The value of unit `i` in column `j`; none if it is missing.
    pub(super) fn value(&self, i: usize, j: usize) -> Option<f64> {
        channel_mean(self.x, i, self.columns[j].channel, self.sites)
    }
}

/// The mean of channel `channel` of unit `i` over its `sites` observed sites.
pub(super) fn channel_mean(x: &Units, i: usize, channel: usize, sites: usize) -> Option<f64> {
    let values = observed_values(x, i, channel * sites..(channel + 1) * sites);
    let (n, sum) = values.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
    (n > 0.0).then(|| sum / n)
}

/// What units can be split by: every column of a table, with the levels of a category as one.
pub(super) fn splitters(model: &Model, channels: usize, sites: usize) -> Vec<Splitter> {
    let layout = model.layout();
    if layout.is_some_and(|layout| !layout.has_covariates()) {
        return Vec::new();
    }
    let single =
        |(channel, name): (usize, String)| Splitter { name, channels: channel..channel + 1, levels: None };
    let Some(TableForm::Wide { x: Block::Features(features), .. }) = layout.map(|layout| &layout.form) else {
        return covariate_names(layout, channels, sites).into_iter().enumerate().map(single).collect();
    };
    let mut start = 0;
    let mut all = Vec::new();
    for feature in features {
        let names = feature.names();
        let end = start + names.len();
        match &feature.categories {
            Some(levels) if levels.len() == names.len() => all.push(Splitter {
                name: feature.name.clone(),
                channels: start..end,
                levels: Some(levels.clone()),
            }),
            _ => all.extend((start..end).zip(names).map(single)),
        }
        start = end;
    }
    all
}

/// The names of the columns or channels of x.
fn covariate_names(layout: Option<&Layout>, channels: usize, sites: usize) -> Vec<String> {
    let feature_names = |features: &[Feature]| features.iter().flat_map(Feature::names).collect::<Vec<_>>();
    let from_layout = match layout.map(|layout| &layout.form) {
        Some(TableForm::Wide { x: Block::Features(features), .. }) => feature_names(features),
        Some(TableForm::Wide { x: Block::Lists { columns, .. }, .. }) => {
            columns.iter().map(|name| format!("mean of {name}")).collect()
        }
        Some(TableForm::Long(long)) => {
            let series = long.series.iter().map(|name| format!("mean {name} before"));
            series.chain(feature_names(&long.fixed)).collect()
        }
        None => Vec::new(),
    };
    if from_layout.len() == channels {
        return from_layout;
    }
    let numbered = |j: usize| if sites > 1 { format!("mean of x{j}") } else { format!("x{j}") };
    (0..channels).map(numbered).collect()
}
