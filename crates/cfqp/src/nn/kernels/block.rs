//! (Transposed) convolution, treatment term, group norm and swish, a few units at a time.

use std::ops::Range;

use super::buffer::{Buffer, buffer};
use super::convolution::{Convolution, Gradients};
use super::norm::{Back, Norm, NormGrads, norm_swish, norm_swish_backward};
use super::parts::{Parts, run, total};

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

/// What the forward pass leaves to the backward pass.
#[derive(Debug)]
pub(crate) struct Saved {
    /// The normalised convolution, the shape of the output.
    normal: Buffer,
    /// What it was multiplied by, `[n, outputs]`.
    scale: Buffer,
}

/// The gradients of a block, each the shape of what it is the gradient of; `x` is empty if not wanted.
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
    /// # Shapes
    /// x `[n, sites, inputs]` each, term `[n, outputs]`, to `[n, sites, outputs]`
    pub fn forward(&self, x: [&[f32]; 2], term: &[f32]) -> Buffer {
        let mut y = buffer(self.units(term) * self.convolution.width_out());
        let parts = Parts::of(self.units(term), self.convolution.work());
        let work = parts.cut(x[0]).zip(parts.cut(x[1])).zip(parts.cut(term)).zip(parts.cut_mut(&mut y));
        run(work.collect(), |(((x0, x1), term), y)| {
            // What would be saved is overwritten from tile to tile, and stays in the cache.
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

    /// The same, and what the backward pass needs.
    pub fn forward_saved(&self, x: [&[f32]; 2], term: &[f32]) -> (Buffer, Saved) {
        let width = self.convolution.width_out();
        let mut y = buffer(self.units(term) * width);
        let mut saved = Saved { normal: buffer(y.len()), scale: buffer(term.len()) };
        let parts = Parts::of(self.units(term), self.convolution.work());
        let read = parts.cut(x[0]).zip(parts.cut(x[1])).zip(parts.cut(term));
        let write = parts.cut_mut(&mut saved.normal).zip(parts.cut_mut(&mut saved.scale));
        let work = read.zip(parts.cut_mut(&mut y).zip(write));
        run(work.collect(), |(((x0, x1), term), (y, (normal, scale)))| {
            let mut scratch = buffer(self.convolution.scratch(self.tile(y)));
            for units in self.tiles(y) {
                let normal = of_mut(normal, &units, width);
                let scale = of_mut(scale, &units, self.convolution.outputs);
                self.forward_tile([x0, x1], term, units, [y, normal, scale], &mut scratch);
            }
        });
        (y, saved)
    }

    /// The gradients from that of the output.
    pub fn backward(&self, x: [&[f32]; 2], saved: &Saved, dy: &[f32], wants_x: bool) -> BlockGrads {
        let n = self.units(&saved.scale);
        let width_in = self.convolution.width_in().map(|width| if wants_x { width } else { 0 });
        let (mut dx, mut dterm) = (width_in.map(|width| buffer(n * width)), buffer(saved.scale.len()));
        let [dx0, dx1] = &mut dx;
        let parts = Parts::of(n, self.convolution.work());
        let read = parts.cut(dy).zip(parts.cut(&saved.normal)).zip(parts.cut(&saved.scale));
        let read = parts.cut(x[0]).zip(parts.cut(x[1])).zip(read);
        let write = parts.cut_mut(dx0).zip(parts.cut_mut(dx1)).zip(parts.cut_mut(&mut dterm));
        let sums =
            run(read.zip(write).collect(), |(((x0, x1), ((dy, normal), scale)), ((dx0, dx1), dterm))| {
                self.backward_part([x0, x1], Back { dy, normal, scale }, wants_x.then_some([dx0, dx1]), dterm)
            });
        let (weights, norms): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
        let (gammas, betas): (Vec<_>, Vec<_>) = norms.into_iter().map(|g| (g.gamma, g.beta)).unzip();
        BlockGrads {
            x: dx,
            weight: total(weights, self.weight.len()),
            term: dterm,
            gamma: total(gammas, self.gamma.len()),
            beta: total(betas, self.beta.len()),
        }
    }

    /// `out` is y of the part, and normal and scale of the tile.
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
        let x = inputs_of(convolution, x, &units);
        convolution.forward(x, self.weight, normal, &mut scratch[..convolution.scratch(units.len())]);
        let (term, y) = (of(term, &units, convolution.outputs), of_mut(y, &units, convolution.width_out()));
        norm_swish(&self.norm(), term, normal, y, scale);
    }

    /// One part's sums, the gradients of weight and norm; those of inputs and term are written in place.
    fn backward_part(
        &self,
        x: [&[f32]; 2],
        back: Back<'_>,
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
            let back = Back {
                dy: of(back.dy, &units, width),
                normal: of(back.normal, &units, width),
                scale: of(back.scale, &units, outputs),
            };
            let dz = &mut dz[..units.len() * width];
            norm_swish_backward(&norm, back, dz, of_mut(dterm, &units, outputs), &mut grads);
            let [first, second] = convolution.width_in();
            let dx = dx.as_mut().map(|[a, b]| [of_mut(a, &units, first), of_mut(b, &units, second)]);
            let to = Gradients { weight: &mut dw, add: units.start > 0, x: dx };
            let scratch = &mut scratch[..convolution.scratch(units.len())];
            convolution.backward(inputs_of(convolution, x, &units), self.weight, dz, to, scratch);
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

/// Some units' rows of an array.
pub(super) fn of<'a>(data: &'a [f32], units: &Range<usize>, width: usize) -> &'a [f32] {
    &data[units.start * width..units.end * width]
}

/// Some units' rows of an array, to write to.
pub(super) fn of_mut<'a>(data: &'a mut [f32], units: &Range<usize>, width: usize) -> &'a mut [f32] {
    &mut data[units.start * width..units.end * width]
}

/// Some units' rows of both inputs.
pub(super) fn inputs_of<'a>(
    convolution: &Convolution,
    x: [&'a [f32]; 2],
    units: &Range<usize>,
) -> [&'a [f32]; 2] {
    let [first, second] = convolution.width_in();
    [of(x[0], units, first), of(x[1], units, second)]
}
