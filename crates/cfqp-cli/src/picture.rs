//! The picture of the demo: what units showed, would have shown, and were said to have shown.

use std::error::Error;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf32;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::text::{FAINT, GRID, INK, text};

/// One unit; every series is `[2 channels, steps]`, flat.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    pub unit: usize,
    pub class: usize,
    /// Given, and asked about.
    pub treatments: [f32; 2],
    pub before: &'a [f32],
    pub seen: &'a [f32],
    pub truth: &'a [f32],
    pub answer: &'a [f32],
    pub lower: &'a [f32],
    pub upper: &'a [f32],
    /// What an ITE model answers.
    pub rival: &'a [f32],
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf32, RangedCoordf32>>;
type Drawn = Result<(), Box<dyn Error>>;

const CHANNELS: usize = 2;
const WIDTH: u32 = 1080;
const ROW: u32 = 236;
const HEAD: u32 = 112;

const SEEN: RGBColor = RGBColor(71, 85, 105);
const ANSWER: RGBColor = RGBColor(234, 88, 12);
const RIVAL: RGBColor = RGBColor(37, 99, 235);

/// The SVG text.
pub fn draw(examples: &[Example<'_>]) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    let height = HEAD + ROW * examples.len() as u32 + 8;
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(HEAD);
        draw_head(&head)?;
        let range = range(examples);
        let panels = body.split_evenly((examples.len(), CHANNELS));
        for (i, panel) in panels.iter().enumerate() {
            let last = i / CHANNELS + 1 == examples.len();
            draw_panel(panel, &examples[i / CHANNELS], i % CHANNELS, range, last)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn draw_head(head: &Area<'_>) -> Drawn {
    head.draw(&Text::new(
        "What would this unit have shown under another treatment?",
        (56, 18),
        text(22, INK),
    ))?;
    let note = "Two oscillating channels; a hidden class decides which of them the treatment lifts. \
                Its noise is read off what it showed: bands are thinner than the lines.";
    head.draw(&Text::new(note, (56, 48), text(14, FAINT)))?;
    let at = |x: i32| move |dx: i32, dy: i32| (x + dx, 88 + dy);
    let label = |x: i32, words: &str| Text::new(words.to_owned(), (x + 34, 81), text(14, INK));
    let columns = [56, 240, 520, 800];

    let p = at(columns[0]);
    head.draw(&PathElement::new(vec![p(0, 0), p(26, 0)], SEEN.stroke_width(2)))?;
    head.draw(&label(columns[0], "what it showed"))?;

    let p = at(columns[1]);
    [2, 13, 24].into_iter().try_for_each(|x| head.draw(&Circle::new(p(x, 0), 2, INK.filled())))?;
    head.draw(&label(columns[1], "what it would have shown (truth)"))?;

    let p = at(columns[2]);
    head.draw(&Rectangle::new([p(0, -6), p(26, 6)], ANSWER.mix(0.22).filled()))?;
    head.draw(&PathElement::new(vec![p(0, 0), p(26, 0)], ANSWER.stroke_width(3)))?;
    head.draw(&label(columns[2], "what cfqp answers, with 90% band"))?;

    let p = at(columns[3]);
    for x in [0, 10, 20] {
        head.draw(&PathElement::new(vec![p(x, 0), p(x + 6, 0)], RIVAL.stroke_width(2)))?;
    }
    head.draw(&label(columns[3], "what an ITE model answers"))?;
    Ok(())
}

/// Lowest and highest value of all that is drawn, with some room.
fn range(examples: &[Example<'_>]) -> (f32, f32) {
    let series = |e: &Example<'_>| [e.before, e.seen, e.truth, e.lower, e.upper, e.rival].concat();
    let values: Vec<f32> = examples.iter().flat_map(series).collect();
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let room = 0.06 * (high - low);
    (low - room, high + room)
}

fn channel(series: &[f32], which: usize) -> &[f32] {
    let steps = series.len() / CHANNELS;
    &series[which * steps..(which + 1) * steps]
}

fn draw_panel(
    panel: &Area<'_>,
    example: &Example<'_>,
    which: usize,
    (low, high): (f32, f32),
    last: bool,
) -> Drawn {
    let before = channel(example.before, which);
    let steps = before.len() + channel(example.seen, which).len();
    let end = steps as f32 - 0.5;
    let mut chart = ChartBuilder::on(panel)
        .margin_left(8)
        .margin_right(16)
        .margin_top(30)
        .margin_bottom(4)
        .x_label_area_size(38)
        .y_label_area_size(46)
        .build_cartesian_2d(-0.5_f32..end, low..high)?;
    let treated = before.len() as f32 - 0.5;
    chart.draw_series([Rectangle::new([(treated, low), (end, high)], RGBColor(248, 250, 252).filled())])?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(FAINT)
        .label_style(text(12, FAINT))
        .x_labels(8)
        .y_labels(5)
        .x_label_formatter(&|step| format!("{step:.0}"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .x_desc(if last { "step" } else { "" })
        .y_desc(if which == 0 { "outcome" } else { "" })
        .axis_desc_style(text(13, FAINT))
        .draw()?;
    chart.draw_series([PathElement::new(vec![(treated, low), (treated, high)], FAINT.stroke_width(1))])?;
    let side = |h| Pos::new(h, VPos::Top);
    let mark = |words: &str, dx, h| {
        EmptyElement::at((treated, high)) + Text::new(words.to_owned(), (dx, 4), text(11, FAINT).pos(side(h)))
    };
    chart.draw_series([mark("before", -6, HPos::Right), mark("treated", 6, HPos::Left)])?;
    draw_series(&mut chart, example, which)?;
    let [given, asked] = example.treatments;
    let title = if which == 0 {
        format!(
            "unit {}, class {}: given t = {given:.2}, asked about t' = {asked:.2}",
            example.unit, example.class
        )
    } else {
        String::new()
    };
    panel.draw(&Text::new(title, (54, 10), text(14, INK)))?;
    let name = format!("channel {}", which + 1);
    let right = text(13, FAINT).pos(side(HPos::Right));
    panel.draw(&Text::new(name, (panel.dim_in_pixel().0 as i32 - 18, 10), right))?;
    Ok(())
}

fn draw_series(chart: &mut Chart<'_, '_>, example: &Example<'_>, which: usize) -> Drawn {
    let before = channel(example.before, which);
    let start = before.len();
    let after = |series: &[f32]| -> Vec<(f32, f32)> {
        channel(series, which).iter().enumerate().map(|(i, &value)| ((start + i) as f32, value)).collect()
    };
    let mut band = after(example.upper);
    band.extend(after(example.lower).into_iter().rev());
    chart.draw_series([Polygon::new(band, ANSWER.mix(0.22).filled())])?;
    let seen = before.iter().enumerate().map(|(i, &value)| (i as f32, value)).chain(after(example.seen));
    chart.draw_series(LineSeries::new(seen, SEEN.stroke_width(2)))?;
    chart.draw_series(DashedLineSeries::new(after(example.rival), 6, 4, RIVAL.stroke_width(2)))?;
    chart.draw_series(LineSeries::new(after(example.answer), ANSWER.stroke_width(3)))?;
    chart.draw_series(after(example.truth).into_iter().map(|at| Circle::new(at, 2, INK.filled())))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_an_svg_with_all_that_is_named_in_it() {
        let series = [0.0, 0.5, 1.0, 0.0, -0.5, -1.0];
        let s = &series[..];
        let example = Example {
            unit: 7,
            class: 1,
            treatments: [0.25, 0.75],
            before: s,
            seen: s,
            truth: s,
            answer: s,
            lower: s,
            upper: s,
            rival: s,
        };
        let svg = draw(&[example, example]).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("unit 7, class 1: given t = 0.25"));
    }
}
