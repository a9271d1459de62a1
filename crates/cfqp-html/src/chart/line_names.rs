//! Names of lines, written beside their ends.

use super::{Anchor, Chart, Frame};

/// The distance from the frame to the names.
const OFFSET: f64 = 26.0;
/// The smallest distance between two names.
const LINE_HEIGHT: f64 = 13.0;

/// A line to be named.
#[derive(Clone, Copy, Debug)]
pub struct LineName<'a> {
    /// The class that the line is drawn with.
    pub class: &'a str,
    /// The name.
    pub name: &'a str,
    /// The last point of the line.
    pub end: (f64, f64),
}

impl Chart {
    /// Writes the names of lines to the right of the frame, in the order of their ends and without overlaps.
    pub fn name_lines(&mut self, names: &[LineName<'_>]) {
        let Frame { right, top, bottom, .. } = self.frame;
        let height = |name: &LineName<'_>| self.y.at(name.end.1);
        let mut names: Vec<(f64, &LineName<'_>)> = names.iter().map(|name| (height(name), name)).collect();
        names.retain(|(y, _)| y.is_finite());
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ends: Vec<f64> = names.iter().map(|(y, _)| *y).collect();
        for ((end, name), y) in names.iter().zip(separate(&ends, LINE_HEIGHT, (top, bottom))) {
            let x = self.x.at(name.end.0);
            let path =
                format!("M{x:.1} {end:.1}L{:.1} {end:.1}L{:.1} {y:.1}", right + 6.0, right + OFFSET - 5.0);
            self.path(&format!("line hair {}", name.class), &path);
            self.text(&format!("name {}", name.class), right + OFFSET, y + 3.5, Anchor::Start, name.name);
        }
    }
}

/// Moves sorted positions apart, until neighbours are at least `gap` apart, and into `range` as far as they fit.
fn separate(sorted: &[f64], gap: f64, (min, max): (f64, f64)) -> Vec<f64> {
    let mut moved = sorted.to_vec();
    let mut limit = max;
    for y in moved.iter_mut().rev() {
        *y = y.min(limit);
        limit = *y - gap;
    }
    let mut limit = min;
    for y in &mut moved {
        *y = y.max(limit);
        limit = *y + gap;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_overlap_are_moved_apart() {
        assert_eq!(separate(&[10.0, 50.0], 10.0, (0.0, 100.0)), [10.0, 50.0]);
        assert_eq!(separate(&[50.0, 52.0, 99.0, 99.0], 10.0, (0.0, 100.0)), [42.0, 52.0, 89.0, 99.0]);
        assert_eq!(separate(&[0.0, 1.0, 2.0], 10.0, (0.0, 100.0)), [0.0, 10.0, 20.0]);
        assert_eq!(separate(&[0.0, 1.0, 2.0], 10.0, (0.0, 15.0)), [0.0, 10.0, 20.0]);
    }

    #[test]
    fn names_are_written_in_the_order_of_the_ends_of_their_lines() {
        let frame = Frame { left: 0.0, right: 100.0, top: 0.0, bottom: 100.0 };
        let mut chart = Chart::in_frame(frame, (0.0, 1.0), (0.0, 1.0));
        let name = |class, name, y| LineName { class, name, end: (1.0, y) };
        chart.name_lines(&[name("k0", "low", 0.2), name("k1", "high", 0.8), name("k2", "none", f64::NAN)]);
        let marks = chart.into_marks().into_string();
        assert!(marks.find(">high<") < marks.find(">low<") && !marks.contains("none"));
        assert!(marks.contains("class=\"name k0\""));
    }
}
