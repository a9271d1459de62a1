//! swish(group norm(convolution(x) + term)), fused, a few units at a time.

use std::ops::Range;

use super::batch_split::{BatchSplit, map_parts, sum_arrays};
use super::buffer::{Buffer, buffer};
use super::convolution::{Convolution, Gradients};
use super::norm::{BackwardInput, Norm, NormGrads, norm_swish, norm_swish_backward};

/// A block and its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// Its sizes.
    pub convolution: Convolution,
    /// `[cover * inputs, outputs]`, or transposed `[inputs, cover * outputs]`.
    pub weight: &'a [f32],
    /// Scale of the group norm `[outputs]`.
    pub gamma: &'a [f32],
    /// Shift of the group norm `[outputs]`.
    pub beta: &'a [f32],
    /// Groups of the group norm.
    pub groups: usize,
}

/// The activations that the backward pass needs.
#[derive(Debug)]
pub(crate) struct SavedActivations {
    /// The normalised convolution, of the shape of the output.
    normal: Buffer,
    /// The factors of the normalisation, `[n, outputs]`.
    scale: Buffer,
}

/// The gradients of a block, each of the shape of its variable; `x` is empty if not wanted.
#[derive(Debug)]
pub(crate) struct BlockGrads {
    /// Of both inputs.
    pub x: [Buffer; 2],
    /// Of the weight.
    pub weight: Buffer,
    /// Of the treatment term.
    pub term: Buffer,
    /// Of the norm's scale.
    pub gamma: Buffer,
    /// Of the norm's shift.
    pub beta: Buffer,
}

impl Block<'_> {
    /// The output.
    ///
    /// # Shapes
    /// both x `[n, sites, inputs]`, term `[n, outputs]`, to `[n, sites, outputs]`
    pub(crate) fn forward(&self, x: [&[f32]; 2], term: &[f32]) -> Buffer {
        let mut y = buffer(self.units(term) * self.convolution.width_out());
        let split = BatchSplit::new(self.units(term), self.convolution.work());
        let work =
            split.parts(x[0]).zip(split.parts(x[1])).zip(split.parts(term)).zip(split.parts_mut(&mut y));
        map_parts(work.collect(), |(((x0, x1), term), y)| {
            // intermediate values are overwritten from tile to tile, and stay in the cache
            let tile = self.tile(y);
            let mut scratch = buffer(self.convolution.scratch(tile));
            let mut normal = buffer(tile * self.convolution.width_out());
            let mut scale = buffer(tile * self.convolution.outputs);
            for units in self.tiles(y) {
                let (normal, scale) = (
                    &mut normal[..units.len() * self.convolution.width_out()],
                    &mut scale[..units.len() * self.convolution.outputs],
                );
                self.forward_tile([x0, x1], term, units, [y, normal, scale], &mut scratch);
            }
        });
        y
    }

    /// The output, and the activations that the backward pass needs.
    pub(crate) fn forward_saved(&self, x: [&[f32]; 2], term: &[f32]) -> (Buffer, SavedActivations) {
        let width = self.convolution.width_out();
        let mut y = buffer(self.units(term) * width);
        let mut saved = SavedActivations { normal: buffer(y.len()), scale: buffer(term.len()) };
        let split = BatchSplit::new(self.units(term), self.convolution.work());
        let read = split.parts(x[0]).zip(split.parts(x[1])).zip(split.parts(term));
        let write = split.parts_mut(&mut saved.normal).zip(split.parts_mut(&mut saved.scale));
        let work = read.zip(split.parts_mut(&mut y).zip(write));
        map_parts(work.collect(), |(((x0, x1), term), (y, (normal, scale)))| {
            let mut scratch = buffer(self.convolution.scratch(self.tile(y)));
            for units in self.tiles(y) {
                let normal = unit_rows_mut(normal, &units, width);
                let scale = unit_rows_mut(scale, &units, self.convolution.outputs);
                self.forward_tile([x0, x1], term, units, [y, normal, scale], &mut scratch);
            }
        });
        (y, saved)
    }

    /// The gradients, from the gradient `dy` of the output.
    pub(crate) fn backward(
        &self,
        x: [&[f32]; 2],
        saved: &SavedActivations,
        dy: &[f32],
        wants_x: bool,
    ) -> BlockGrads {
        let n = self.units(&saved.scale);
        let width_in = self.convolution.width_in().map(|width| if wants_x { width } else { 0 });
        let (mut dx, mut dterm) = (width_in.map(|width| buffer(n * width)), buffer(saved.scale.len()));
        let [dx0, dx1] = &mut dx;
        let split = BatchSplit::new(n, self.convolution.work());
        let read = split.parts(dy).zip(split.parts(&saved.normal)).zip(split.parts(&saved.scale));
        let read = split.parts(x[0]).zip(split.parts(x[1])).zip(read);
        let write = split.parts_mut(dx0).zip(split.parts_mut(dx1)).zip(split.parts_mut(&mut dterm));
        let sums = map_parts(
            read.zip(write).collect(),
            |(((x0, x1), ((dy, normal), scale)), ((dx0, dx1), dterm))| {
                self.backward_part(
                    [x0, x1],
                    BackwardInput { dy, normal, scale },
                    wants_x.then_some([dx0, dx1]),
                    dterm,
                )
            },
        );
        let (weights, norms): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
        let (gammas, betas): (Vec<_>, Vec<_>) = norms.into_iter().map(|g| (g.gamma, g.beta)).unzip();
        BlockGrads {
            x: dx,
            weight: sum_arrays(weights, self.weight.len()),
            term: dterm,
            gamma: sum_arrays(gammas, self.gamma.len()),
            beta: sum_arrays(betas, self.beta.len()),
        }
    }

    /// Computes one tile; `out` holds y of the part, and normal and scale of the tile.
    fn forward_tile(
        &self,
        x: [&[f32]; 2],
        term: &[f32],
        units: Range<usize>,
        out: [&mut [f32]; 3],
        scratch: &mut [f32],
    ) {
        let convolution = &self.convolution;
        let [y, normal, scale] = out;
        let x = input_rows(convolution, x, &units);
        convolution.forward(x, self.weight, normal, &mut scratch[..convolution.scratch(units.len())]);
        let (term, y) =
            (unit_rows(term, &units, convolution.outputs), unit_rows_mut(y, &units, convolution.width_out()));
        norm_swish(&self.norm(), term, normal, y, scale);
    }

    /// The gradients of weight and norm, summed over one part; those of inputs and term are written in place.
    fn backward_part(
        &self,
        x: [&[f32]; 2],
        back: BackwardInput<'_>,
        mut dx: Option<[&mut [f32]; 2]>,
        dterm: &mut [f32],
    ) -> (Buffer, NormGrads) {
        let (convolution, norm) = (&self.convolution, self.norm());
        let (width, outputs) = (convolution.width_out(), convolution.outputs);
        let tile = self.tile(back.dy);
        let (mut scratch, mut dz) = (buffer(convolution.scratch(tile)), buffer(tile * width));
        let mut dw = buffer(self.weight.len());
        let mut grads = NormGrads { gamma: vec![0.0; outputs].into(), beta: vec![0.0; outputs].into() };
        for units in self.tiles(back.dy) {
            let back = BackwardInput {
                dy: unit_rows(back.dy, &units, width),
                normal: unit_rows(back.normal, &units, width),
                scale: unit_rows(back.scale, &units, outputs),
            };
            let dz = &mut dz[..units.len() * width];
            norm_swish_backward(&norm, back, dz, unit_rows_mut(dterm, &units, outputs), &mut grads);
            let [first, second] = convolution.width_in();
            let dx =
                dx.as_mut().map(|[a, b]| [unit_rows_mut(a, &units, first), unit_rows_mut(b, &units, second)]);
            let to = Gradients { weight: &mut dw, add: units.start > 0, x: dx };
            let scratch = &mut scratch[..convolution.scratch(units.len())];
            convolution.backward(input_rows(convolution, x, &units), self.weight, dz, to, scratch);
        }
        (dw, grads)
    }

    fn norm(&self) -> Norm<'_> {
        Norm { gamma: self.gamma, beta: self.beta, groups: self.groups }
    }

    fn units(&self, per_unit: &[f32]) -> usize {
        per_unit.len() / self.convolution.outputs
    }

    fn tile(&self, outputs: &[f32]) -> usize {
        self.convolution.tile().min(outputs.len() / self.convolution.width_out())
    }

    fn tiles(&self, outputs: &[f32]) -> impl Iterator<Item = Range<usize>> + use<> {
        tiles(&self.convolution, outputs.len() / self.convolution.width_out())
    }
}

/// The units of each tile of a part.
pub(super) fn tiles(convolution: &Convolution, units: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let tile = convolution.tile();
    (0..units).step_by(tile).map(move |start| start..units.min(start + tile))
}

/// The rows of `units` of an array with `width` elements per unit.
pub(super) fn unit_rows<'a>(data: &'a [f32], units: &Range<usize>, width: usize) -> &'a [f32] {
    &data[units.start * width..units.end * width]
}

/// The rows of `units`, mutable.
pub(super) fn unit_rows_mut<'a>(data: &'a mut [f32], units: &Range<usize>, width: usize) -> &'a mut [f32] {
    &mut data[units.start * width..units.end * width]
}

/// The rows of `units` of both inputs.
pub(super) fn input_rows<'a>(
    convolution: &Convolution,
    x: [&'a [f32]; 2],
    units: &Range<usize>,
) -> [&'a [f32]; 2] {
    let [first, second] = convolution.width_in();
    [unit_rows(x[0], units, first), unit_rows(x[1], units, second)]
}
