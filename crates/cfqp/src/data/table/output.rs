//! Batches of rows of a table to write.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};

/// A batch of rows of a table to write, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputBatch {
    pub(super) columns: Vec<(String, OutputColumn)>,
}

/// One column of an [`OutputBatch`].
#[derive(Clone, Debug, PartialEq)]
pub enum OutputColumn {
    /// Integers.
    Integers(Vec<i64>),
    /// Numbers; NaN is written as missing.
    Numbers(Vec<f32>),
    /// Numbers of double precision, such as times; NaN is written as missing.
    Precise(Vec<f64>),
    /// Texts; an empty one is written as missing.
    Text(Vec<String>),
    /// Lists of numbers, all of the same length.
    Lists {
        /// The length of every list.
        length: usize,
        /// The elements of all lists, row after row; NaN is written as missing.
        values: Vec<f32>,
    },
}

/// How cells are written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextStyle {
    Csv,
    Json,
}

impl OutputColumn {
    fn rows(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Precise(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Lists { length, values } => values.len() / (*length).max(1),
        }
    }

    fn to_arrow(&self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Integers(values) => Arc::new(Int64Array::from(values.clone())),
            Self::Numbers(values) => Arc::new(nullable(values)),
            Self::Precise(values) => {
                let cell = |value: &f64| (!value.is_nan()).then_some(*value);
                Arc::new(values.iter().map(cell).collect::<Float64Array>())
            }
            Self::Text(values) => {
                let cell = |text: &String| (!text.is_empty()).then(|| text.clone());
                Arc::new(values.iter().map(cell).collect::<StringArray>())
            }
            Self::Lists { length, values } => {
                let field = Arc::new(Field::new("item", DataType::Float32, true));
                let values = Arc::new(nullable(values));
                Arc::new(FixedSizeListArray::try_new(field, *length as i32, values, None)?)
            }
        })
    }

    /// Appends the cell in row `i` as text; lists are written as `[1,2]`.
    pub(super) fn write_text(&self, i: usize, style: TextStyle, out: &mut String) {
        match self {
            Self::Integers(values) => write_display(&values[i], out),
            Self::Numbers(values) => write_number(values[i], style, out),
            Self::Precise(values) if !values[i].is_nan() => write_display(&values[i], out),
            Self::Precise(_) => write_number(f32::NAN, style, out),
            Self::Text(values) if style == TextStyle::Json && values[i].is_empty() => out.push_str("null"),
            Self::Text(values) if style == TextStyle::Json => {
                write_display(&serde_json::Value::from(values[i].as_str()), out);
            }
            Self::Text(values) => out.push_str(&values[i]),
            Self::Lists { length, values } => {
                out.push('[');
                for (j, value) in values[i * length..(i + 1) * length].iter().enumerate() {
                    out.push_str(if j > 0 { "," } else { "" });
                    write_number(*value, style, out);
                }
                out.push(']');
            }
        }
    }
}

/// NaN as null.
fn nullable(values: &[f32]) -> Float32Array {
    values.iter().map(|value| (!value.is_nan()).then_some(*value)).collect()
}

fn write_display(value: &dyn std::fmt::Display, out: &mut String) {
    write!(out, "{value}").expect("writing to a string cannot fail");
}

/// Appends the shortest digits that give the same number; very small and large ones in exponential notation.
fn write_number(value: f32, style: TextStyle, out: &mut String) {
    match (value.abs(), style) {
        (size, TextStyle::Json) if !size.is_finite() => out.push_str("null"),
        (size, TextStyle::Csv) if !size.is_finite() => {}
        (size, _) if size != 0.0 && !(1e-5..1e9).contains(&size) => {
            write_display(&format_args!("{value:e}"), out);
        }
        _ => write_display(&value, out),
    }
}

impl OutputBatch {
    /// Appends a column.
    ///
    /// # Panics
    /// If the number of rows differs from that of the other columns.
    pub fn push(&mut self, name: impl Into<String>, column: OutputColumn) {
        let is_equal_length = self.columns.first().is_none_or(|(_, first)| first.rows() == column.rows());
        assert!(is_equal_length, "the columns of a batch have the same number of rows");
        self.columns.push((name.into(), column));
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.rows())
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The same columns without their rows.
    pub(crate) fn without_rows(mut self) -> Self {
        for (_, column) in &mut self.columns {
            match column {
                OutputColumn::Integers(values) => values.clear(),
                OutputColumn::Numbers(values) | OutputColumn::Lists { values, .. } => values.clear(),
                OutputColumn::Precise(values) => values.clear(),
                OutputColumn::Text(values) => values.clear(),
            }
        }
        self
    }

    /// Splits lists into one column per element, for formats without lists.
    pub(super) fn flatten_lists(self) -> Self {
        let mut flat = Self::default();
        for (name, column) in self.columns {
            match column {
                OutputColumn::Lists { length, values } => {
                    for j in 0..length {
                        let elements = values.iter().skip(j).step_by(length).copied().collect();
                        flat.push(format!("{name}_{j}"), OutputColumn::Numbers(elements));
                    }
                }
                column => flat.push(name, column),
            }
        }
        flat
    }

    /// The rows as a record batch.
    ///
    /// # Errors
    /// If two columns have the same name, or lists are too long.
    pub fn to_record_batch(&self) -> Result<RecordBatch, ArrowError> {
        let arrays =
            self.columns.iter().map(|(_, column)| column.to_arrow()).collect::<Result<Vec<_>, _>>()?;
        let names = self.names();
        let fields =
            names.iter().zip(&arrays).map(|(&name, array)| Field::new(name, array.data_type().clone(), true));
        RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), arrays)
    }
}
