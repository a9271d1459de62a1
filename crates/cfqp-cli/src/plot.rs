//! How well each number of classes explains held-out units, as a picture.

use std::error::Error;

use plotters::prelude::*;

use cfqp::Tried;

use crate::text::{FAINT, GRID, INK, text};

const LINES: [RGBColor; 4] =
    [RGBColor(234, 88, 12), RGBColor(37, 99, 235), RGBColor(22, 163, 74), RGBColor(147, 51, 234)];

/// The SVG text: a line per base model, the choice marked.
pub fn evidence(tried: &[Tried]) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    let finite = || tried.iter().map(Tried::priced).filter(|value| value.is_finite());
    let (low, high) = finite().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let margin = 0.08 * (high - low).max(1e-9);
    let most = tried.iter().map(|tried| tried.classes).max().unwrap_or(1);
    {
        let root = SVGBackend::with_string(&mut svg, (720, 420)).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw(&Text::new("How many hidden classes do held-out units support?", (64, 16), text(18, INK)))?;
        let mut chart = ChartBuilder::on(&root)
            .margin(16)
            .margin_top(52)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(0.5..most as f64 + 0.5, low - margin..high + margin)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .axis_style(FAINT)
            .x_labels(most)
            .x_label_formatter(&|x| if x.fract().abs() < 1e-6 { format!("{x:.0}") } else { String::new() })
            .y_label_formatter(&|y| format!("{:.2}", if y.abs() < 1e-9 { 0.0 } else { *y }))
            .x_desc("classes")
            .y_desc("-log likelihood of a held-out unit + price of classes")
            .label_style(text(13, INK))
            .draw()?;
        let mut bases: Vec<&str> = tried.iter().map(|tried| &tried.base[..]).collect();
        bases.dedup();
        for (i, base) in bases.into_iter().enumerate() {
            let colour = LINES[i % LINES.len()];
            let own = || tried.iter().filter(|tried| tried.base == base && tried.priced().is_finite());
            let points: Vec<(f64, f64)> = own().map(|tried| (tried.classes as f64, tried.priced())).collect();
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
            chart.draw_series(points.iter().map(|&point| Circle::new(point, 4, colour.filled())))?;
            if let Some(chosen) = own().find(|tried| tried.chosen) {
                let at = (chosen.classes as f64, chosen.priced());
                chart.draw_series([Circle::new(at, 9, colour.stroke_width(2))])?;
            }
            root.draw(&Text::new(base.to_owned(), (84 + 90 * i as i32, 40), text(14, colour)))?;
        }
        root.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_model_has_a_line_and_the_choice_a_ring() {
        let tried = |base: &str, classes, evidence, chosen| Tried {
            base: base.to_owned(),
            classes,
            nll: evidence,
            evidence,
            price: 0.0,
            mse: 1.0,
            chosen,
        };
        let all =
            [tried("linear", 1, 5.0, false), tried("linear", 2, 3.0, true), tried("mlp", 1, 4.0, false)];
        let svg = evidence(&all).unwrap();
        assert!(svg.contains("linear") && svg.contains("mlp"));
        assert_eq!(svg.matches("r=\"9\"").count(), 1);
    }
}
