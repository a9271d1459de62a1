//! Cards in two columns of about equal height.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped};

/// All divisions of so many cards are compared; of more, each goes to the shorter column.
const MAX_COMPARED: usize = 12;
/// The approximate width of a card's content in letters, and the heights of a line, of a row of a table, and around a block, in
/// pixels.
const LETTERS: f64 = 60.0;
const LINE: f64 = 25.0;
const ROW: f64 = 28.0;
const MARGIN: f64 = 12.0;
/// How much larger drawings are shown than their view box.
const ZOOM: f64 = 1.1;

/// Cards side by side on a wide page, without holes: in two columns, of which the last cards fill the rest; below each other, in
/// their order, on a narrow one.
pub(super) fn columns(cards: Vec<Markup>) -> Markup {
    let cards: Vec<String> = cards.into_iter().map(|card| card.0).filter(|card| !card.is_empty()).collect();
    if let [single] = &cards[..] {
        return PreEscaped(format!("<div class=\"single\">{single}</div>"));
    }
    let heights: Vec<f64> = cards.iter().map(|card| height(card)).collect();
    let is_left = divide(&heights);
    let mut page = String::from("<div class=\"columns\">");
    for left in [true, false] {
        page.push_str("<div>");
        let own = cards.iter().zip(&is_left).enumerate().filter(|(_, (_, is_left))| **is_left == left);
        for (i, (card, _)) in own {
            let _ = write!(page, "<div class=\"cell\" style=\"order:{i}\">{card}</div>");
        }
        page.push_str("</div>");
    }
    PreEscaped(page + "</div>")
}

/// Which cards are in the left column: the first one is.
fn divide(heights: &[f64]) -> Vec<bool> {
    let total: f64 = heights.iter().sum();
    let n = heights.len();
    if n <= MAX_COMPARED {
        let is_left = |choice: usize, i: usize| i == 0 || choice >> (i - 1) & 1 == 0;
        let gap = |choice: &usize| {
            let left: f64 = (0..n).filter(|&i| is_left(*choice, i)).map(|i| heights[i]).sum();
            (total - 2.0 * left).abs()
        };
        let choices = 0..1_usize << n.saturating_sub(1);
        let best = choices.min_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap_or(0);
        return (0..n).map(|i| is_left(best, i)).collect();
    }
    let mut sums = [0.0, 0.0];
    heights
        .iter()
        .map(|height| {
            let is_left = sums[0] <= sums[1];
            sums[usize::from(!is_left)] += height;
            is_left
        })
        .collect()
}

/// The approximate height of a card, from its drawings, rows and letters; what the reader can unfold is folded.
fn height(card: &str) -> f64 {
    let (mut shown, mut folded) = (String::new(), 0);
    for (i, part) in card.split("<details>").enumerate() {
        folded += usize::from(i > 0);
        shown.push_str(if i == 0 {
            part
        } else {
            part.split_once("</details>").map_or("", |(_, rest)| rest)
        });
    }
    let views = shown.split("viewBox=\"0 0 ").skip(1);
    let drawings: f64 = views
        .filter_map(|view| view.split('"').next()?.split(' ').nth(1)?.parse::<f64>().ok())
        .map(|height| ZOOM * height)
        .sum();
    let without_drawings: String = shown
        .split("<svg")
        .enumerate()
        .map(|(i, part)| if i == 0 { part } else { part.split_once("</svg>").map_or("", |(_, rest)| rest) })
        .collect();
    let blocks = ["<p", "<li", "<h3", "<h4", "<figcaption"].map(|tag| without_drawings.matches(tag).count());
    let rows = without_drawings.matches("<tr>").count();
    let letters: usize =
        without_drawings.split('<').map(|part| part.split_once('>').map_or(0, |(_, text)| text.len())).sum();
    let blocks = blocks.iter().sum::<usize>() as f64;
    drawings
        + ROW * (rows + folded) as f64
        + LINE * (letters as f64 / LETTERS + 0.5 * blocks)
        + MARGIN * (blocks + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_about_equally_high() {
        assert_eq!(divide(&[300.0, 100.0, 100.0, 100.0]), [true, false, false, false]);
        assert_eq!(divide(&[100.0, 300.0, 210.0]), [true, false, true]);
        let many = divide(&[10.0; 20]);
        assert_eq!(many.iter().filter(|is_left| **is_left).count(), 10);
        assert!(divide(&[]).is_empty());
    }

    #[test]
    fn drawings_count_and_folded_content_does_not() {
        let text = height("<div><p>one line</p></div>");
        let drawn = height("<div><p>one line</p><svg viewBox=\"0 0 440 280\"><text>a</text></svg></div>");
        assert!((drawn - text - ZOOM * 280.0).abs() < 1e-9);
        let folded = format!("<div><p>one line</p><details><p>{}</p></details></div>", "word ".repeat(100));
        assert!(height(&folded) < text + 2.0 * LINE);
    }

    #[test]
    fn cards_keep_their_order_on_a_narrow_page() {
        let card = |name: &str| PreEscaped(format!("<div class=\"card\"><p>{name}</p></div>"));
        let page = columns(vec![card("a"), PreEscaped(String::new()), card("b"), card("c")]).into_string();
        assert_eq!(page.matches("class=\"card\"").count(), 3);
        for (i, name) in ["a", "b", "c"].iter().enumerate() {
            assert!(page.contains(&format!("style=\"order:{i}\"><div class=\"card\"><p>{name}")), "{page}");
        }
        assert!(columns(vec![card("a")]).into_string().starts_with("<div class=\"single\">"));
    }
}
