//! The score of every number of classes on held-out units.

use cfqp::{Base, ClassScore};
use maud::{Markup, html};

use super::{Chart, padded_range, standalone};

const TITLE: &str = "How many hidden classes do held-out units support?";

/// The base models that were tried, in order; model `i` is drawn in the colour `k{i}`.
pub fn base_models(tried: &[ClassScore]) -> Vec<Base> {
    let mut models: Vec<Base> = Vec::new();
    for candidate in tried {
        if !models.contains(&candidate.base) {
            models.push(candidate.base);
        }
    }
    models
}

/// A line per base model, with a ring around the choice.
pub fn chart_class_scores(tried: &[ClassScore]) -> Chart {
    let max_classes = tried.iter().map(|tried| tried.classes).max().unwrap_or(1);
    let scores = padded_range(tried.iter().map(ClassScore::score));
    let x = (0.7, max_classes as f64 + 0.3);
    // no more ticks than classes, so that they are integers
    let ticks = max_classes.min(7) as f64;
    let (x_title, y_title) = ("number of classes", "score on held-out units (lower is better)");
    let mut chart = Chart::with_ticks(ticks, x, scores, x_title, y_title);
    for (i, base) in base_models(tried).into_iter().enumerate() {
        let class = format!("k{}", i % 8);
        let points = || tried.iter().filter(|tried| tried.base == base);
        chart.line(&class, points().map(|tried| (tried.classes as f64, tried.score())));
        for tried in points() {
            chart.circle(&format!("dot {class}"), tried.classes as f64, tried.score(), 4.0);
            if tried.chosen {
                chart.circle(&format!("ring {class}"), tried.classes as f64, tried.score(), 9.0);
            }
        }
    }
    for k in 1..=max_classes {
        let at = tried.iter().filter(|tried| tried.classes == k);
        let values: Vec<String> = at.map(|tried| format!("{} {:.2}", tried.base, tried.score())).collect();
        chart.tooltip(k as f64 - 0.5, k as f64 + 0.5, &format!("{k} classes: {}", values.join(", ")));
    }
    chart
}

/// The chart as an SVG file.
pub fn draw_class_scores(tried: &[ClassScore]) -> String {
    let legend = |(i, base): (usize, Base)| -> Markup {
        let x = 12 + 110 * (i % 4);
        html! {
            circle class=(format_args!("dot k{}", i % 8)) cx=(x) cy="40" r="4" {}
            text x=(x + 9) y="43.5" { (base) }
        }
    };
    let content = html! {
        text class="heading" x="8" y="22" { (TITLE) }
        @for entry in base_models(tried).into_iter().enumerate() { (legend(entry)) }
        g transform="translate(0 54)" { (chart_class_scores(tried).into_marks()) }
    };
    standalone((440.0, 340.0), 1.6, TITLE, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_model_has_a_line_and_the_choice_has_a_ring() {
        let tried = |base, classes, nll, chosen| ClassScore {
            base,
            classes,
            nll,
            full_nll: nll,
            penalty: 0.0,
            mse: Some(1.0),
            gain_error: None,
            chosen,
        };
        let all = [
            tried(Base::Linear, 1, 5.0, false),
            tried(Base::Linear, 2, 3.0, true),
            tried(Base::Mlp, 1, 4.0, false),
            tried(Base::Mlp, 2, f64::INFINITY, false),
        ];
        let svg = draw_class_scores(&all);
        assert!(svg.contains(">linear</text>") && svg.contains(">mlp</text>"));
        assert_eq!((svg.matches("class=\"line ").count(), svg.matches("r=\"9\"").count()), (2, 1));
        assert!(svg.contains(">1</text>") && !svg.contains(">1.5</text>"));
        assert!(svg.starts_with("<svg xmlns=") && !svg.contains("inf"));
    }
}
