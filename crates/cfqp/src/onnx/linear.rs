//! The linear base model.

use super::graph::{Graph, Value};
use super::input::Input;
use super::layers::{Affine, add};
use crate::models::{LinearMap, Shapes};

/// The standardised mean of one class, `[n, y elements]`. With the class as input, the map is that of the class alone.
pub(super) fn mean(
    graph: &mut Graph,
    net: &LinearMap,
    input: &Input,
    shapes: &Shapes,
    class: Option<usize>,
) -> Value {
    let x: usize = shapes.x.iter().product();
    let first = x * (1 + usize::from(shapes.missing));
    let map = class_map(Affine::new(&net.map), first, shapes.t, class);
    let mut columns = input.covariates();
    columns.push(input.t.clone());
    let columns = graph.concatenate(&columns, 1);
    map.apply(graph, &columns)
}

/// The map of covariates and treatments for one class. The inputs of the whole map are covariates, treatments, an
/// indicator of each class, and those indicators times each treatment.
fn class_map(mut map: Affine, covariates: usize, treatments: usize, class: Option<usize>) -> Affine {
    let known = covariates + treatments;
    let Some(k) = class else { return map };
    let classes = (map.inputs() - known) / (1 + treatments);
    for j in 0..treatments {
        let own = map.row(known + classes * (1 + j) + k).to_vec();
        add(map.row_mut(covariates + j), &own);
    }
    map.with_fixed(known, known + k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_of_a_class_has_its_own_constant_and_slope() {
        // x, t, two classes, two classes times t
        let map = Affine { weight: vec![1.0, 2.0, 10.0, 20.0, 100.0, 200.0], bias: vec![0.5] };
        assert_eq!(class_map(map.clone(), 1, 1, None).weight, map.weight);
        let second = class_map(map, 1, 1, Some(1));
        assert_eq!((second.weight, second.bias), (vec![1.0, 202.0], vec![20.5]));
    }
}
