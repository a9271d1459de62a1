//! The report: one page that is complete, loads nothing and escapes every name.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::tables::wide_csv;
use crate::{cfqp, listing, succeed, text};

const FIT: &str = "--base linear --init kmeans --members 2 --seed 3";
/// Elements that have no end tag.
const VOID_ELEMENTS: [&str; 3] = ["meta", "link", "img"];
const SECTIONS: [&str; 8] = ["asked", "data", "trust", "classes", "curves", "effects", "units", "rerun"];

fn page(folder: &Path, line: &str) -> String {
    succeed(folder, &format!("report {line} --out report.html --force"));
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    check(&page);
    page
}

/// Checks that tags are closed in order, that nothing is loaded, and that every section exists.
fn check(page: &str) {
    let page_without_code = without(without(page.to_owned(), "style"), "script");
    let mut open: Vec<String> = Vec::new();
    let mut rest = page_without_code.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "an unescaped > in {}", &rest[..at]);
        let end = end_of_tag(&rest[at..]);
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        let name = |tag: &str| tag.split([' ', '\n']).next().unwrap().to_owned();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "{open:?}");
        } else if !VOID_ELEMENTS.contains(&&name(tag)[..]) {
            open.push(name(tag));
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    for other in ["http://", "https://", "src=\"//", "@import", "url("] {
        assert!(!page.contains(other), "the page loads something: {other}");
    }
    for id in SECTIONS {
        assert!(page.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    assert_eq!(page.matches("<section class=\"short\" id=\"short\"").count(), 1, "the summary comes first");
    // images have no plain estimates
    assert!((6..=8).contains(&page.matches("data-verdict=").count()));
    // every drawing has a description
    assert_eq!(page.matches("<svg").count(), page.matches("<svg role=\"img\" aria-label=\"").count());
    assert_eq!(page.matches("<img").count(), page.matches("<img alt=\"").count());
    assert!(!page.contains("NaN") && !page.contains("inf "), "a value that is not a number");
}

/// The end of the tag that begins at 0; a > within quotes does not count.
fn end_of_tag(text: &str) -> usize {
    let mut quoted = false;
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return i,
            _ => {}
        }
    }
    panic!("a tag without an end: {}", &text[..80.min(text.len())]);
}

fn without(page: String, element: &str) -> String {
    let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
    assert_eq!((page.matches(&begin).count(), page.matches(&end).count()), (1, 1), "one {element}");
    let (from, to) = (page.find(&begin).unwrap(), page.find(&end).unwrap() + end.len());
    page[..from].to_owned() + &page[to..]
}

/// Writes a table and fits a model to it.
fn fit_small_table(folder: &Path) {
    std::fs::write(folder.join("a.csv"), wide_csv(60)).unwrap();
    succeed(
        folder,
        &format!("fit a.csv --id id --x age --t dose --y outcome --classes 2 {FIT} --out m.cfqp -q"),
    );
}

#[test]
fn hostile_names_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let csv = wide_csv(90)
        .replacen(
            "age,ward,dose,outcome",
            "<script>alert(1)</script>,ward,\"d\"\"><img src=x>\",'&y</style>",
            1,
        )
        .replace("u7,", "<b onclick='x'>u7,")
        .replace("south", "</script>south");
    std::fs::write(folder.join("a&b.csv"), csv).unwrap();
    let fit = "fit a&b.csv --id id --x <script>alert(1)</script>,ward --t d\"><img_src=x> --y '&y</style>";
    let fit: Vec<String> = fit.split_whitespace().map(|word| word.replace("img_src", "img src")).collect();
    let mut args: Vec<&str> = fit.iter().map(String::as_str).collect();
    args.extend(FIT.split_whitespace().chain(["--classes", "2", "--out", "m.cfqp", "-q"]));
    let fitted = cfqp(folder, &args);
    assert!(fitted.status.success(), "{}", text(&fitted.stderr));
    let page = page(folder, "m.cfqp a&b.csv");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>alert"));
    assert!(page.contains("d&quot;&gt;&lt;img src=x&gt;") && !page.contains("<img src=x"));
    assert!(page.contains("'&amp;y&lt;/style&gt;"));
    let chosen =
        cfqp(folder, &["report", "m.cfqp", "a&b.csv", "--out", "b.html", "--units", "<b onclick='x'>u7,u3"]);
    assert!(chosen.status.success(), "{}", text(&chosen.stderr));
    let chosen = std::fs::read_to_string(folder.join("b.html")).unwrap();
    check(&chosen);
    assert!(chosen.contains("Unit &lt;b onclick='x'&gt;u7 ") && chosen.contains("Unit u3 "));
}

#[test]
fn tables_series_and_images_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate cardio --n 120 --seed 2 --format csv-long --out a.csv");
    let long = "--id patient --time second --series pa,pv --t dose --treated-at 20";
    succeed(folder, &format!("fit a.csv {long} --classes 2 {FIT} --out a.cfqp -q"));
    let series = page(folder, "a.cfqp a.csv");
    assert!(series.contains("time since the treatment") && series.contains("mean pa before"));
    // the same command gives the same page, and the fit that it names the same model
    assert!(series == page(folder, "a.cfqp a.csv"));
    let (_, command) = series.split_once("<pre>cfqp fit DATA ").unwrap();
    let (flags, _) = command.split_once(" --out a.cfqp</pre>").unwrap();
    succeed(folder, &format!("fit a.csv {flags} --out again.cfqp -q"));
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(read("a.cfqp") == read("again.cfqp"), "{flags}");
    let report: Value = serde_json::from_str(&succeed(
        folder,
        "report a.cfqp a.csv --out j.html --units 7,3 --from 0.5 --to 0.8 --json",
    ))
    .unwrap();
    assert_eq!((&report["units_in_file"], &report["question"]["to"][0]), (&120.into(), &0.8.into()));
    assert_eq!((&report["units"][0]["id"], report["units"].as_array().unwrap().len()), (&"7".into(), 2));
    assert_eq!(
        (report["classes"].as_array().unwrap().len(), report["curves"]["grid"].as_array().unwrap().len()),
        (2, 13)
    );

    // arrays, one class
    succeed(folder, "simulate oscillator --single-class --n 150 --out b.npz");
    succeed(folder, &format!("fit b.npz --classes 1 {FIT} --out b.cfqp -q"));
    let single = page(folder, "b.cfqp b.npz");
    assert!(single.contains("The model was given one class: no hidden classes are told apart."));
    assert!(single.contains("That does not mean that all units respond alike"));

    // images
    let image = |i: usize| (0..36).map(move |j| ((i * 7 + j * 3) % 11) as f32 / 11.0);
    let x: Vec<f32> = (0..60).flat_map(image).collect();
    let t: Vec<f32> = (0..60).map(|i| (i * 13 % 31) as f32 / 31.0).collect();
    let y: Vec<f32> = x.iter().enumerate().map(|(i, x)| x * (1.0 + t[i / 36])).collect();
    let units =
        |shape: &[usize], values: Vec<f32>| cfqp::Units::new("image", shape.to_vec(), values).unwrap();
    let (x, t, y) = (units(&[1, 6, 6], x), units(&[1], t), units(&[1, 6, 6], y));
    let arrays =
        [("x", &x), ("t", &t), ("y", &y)].map(|(name, units)| (name, cfqp::data::NpzArray::units(units)));
    cfqp::data::write_npz(&folder.join("c.npz"), &arrays).unwrap();
    succeed(folder, &format!("fit c.npz --classes 1 {FIT} --out c.cfqp -q"));
    let images = page(folder, "c.cfqp c.npz");
    assert_eq!(images.matches("<img alt=\"Unit ").count(), 2 * 5);
    assert!(images.contains("src=\"data:image/png;base64,iVBORw0KGgo"));
}

#[test]
fn equal_treatments_are_reported_as_such_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit_small_table(folder);
    let line = "report m.cfqp a.csv --from 0.5 --to 0.5 --out r.html";
    let output = cfqp(folder, &line.split_whitespace().collect::<Vec<_>>());
    let warning = "warning: the low and the high treatment are equal: choose two with --from and --to\n";
    assert!(output.status.success() && text(&output.stderr).contains(warning), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(folder.join("r.html")).unwrap();
    assert!(page.contains("The report compares two equal treatments."));
    assert!(!page.contains("choose two"));
    assert!(!page.contains("data-plain="), "two equal treatments have no effect to estimate");
}

#[test]
fn average_effects_stand_beside_plain_estimates() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let row = |i: usize| {
        let (age, dose) = (i % 7, usize::from(i % 12 == 3));
        format!("{age},{dose},{}\n", age + 4 * dose + i % 3)
    };
    let csv = "age,dose,outcome\n".to_owned() + &(0..480).map(row).collect::<String>();
    std::fs::write(folder.join("a.csv"), csv).unwrap();
    succeed(
        folder,
        &format!("fit a.csv --x age --t dose --y outcome --y-kind number --classes 1 {FIT} --out m.cfqp -q"),
    );
    // one unit in twelve received the dose: the 90th percentile is no dose
    let own = page(folder, "m.cfqp a.csv");
    assert!(own.contains("Going from dose 0 to dose 1"));
    let (_, table) = own.split_once(" data-plain=\"outcome\">").unwrap();
    let (table, rest) = table.split_once("</table>").unwrap();
    for name in ["the model", "difference of means", "regression", "doubly robust"] {
        assert_eq!(table.matches(&format!("<th scope=\"row\">{name}</th>")).count(), 1, "{name}: {table}");
    }
    assert!(
        rest.contains("The mean of the units' effects on outcome, ")
            && rest.contains(" standard errors apart")
    );
    let line = "report m.cfqp a.csv --out j.html --json";
    let report: Value = serde_json::from_str(&succeed(folder, line)).unwrap();
    let compared = &report["effects"]["plain"][0];
    let disagrees = compared["disagrees"].as_bool().unwrap();
    assert_eq!(own.contains("<span class=\"badge doubtful\">disagrees</span>"), disagrees);
    assert_eq!(compared["estimates"].as_array().unwrap().len(), 3);

    // a fit to other outcomes disagrees with these, and the summary says so first
    let other = std::fs::read_to_string(folder.join("a.csv")).unwrap().replace(",1,", ",1,-");
    std::fs::write(folder.join("b.csv"), other).unwrap();
    let other = page(folder, "m.cfqp b.csv");
    let (_, summary) =
        other.split_once(">Summary</h2><p><span class=\"badge doubtful\">disagrees</span>").unwrap();
    assert!(summary.starts_with("The mean of the units' effects on outcome, "), "{}", &summary[..200]);
    assert!(summary.split_once("</p>").unwrap().0.contains("disagrees with a plain estimate"));
    assert!(other.contains("<span class=\"badge doubtful\">disagrees</span>"));
}

/// A trial of hours of training, from 0 to 40: those with a higher score train longer, and only younger ones gain.
fn training_csv() -> String {
    let row = |i: usize| {
        let (age, score) = (20 + i * 7919 % 40, i * 104_729 % 21);
        let hours = score + i / 21 * 8 % 21;
        let gain = if age < 40 { hours } else { 0 };
        let noise = (i * 611_953 % 17) as f64 / 8.0 - 1.0;
        let sales = if i == 3 {
            String::new()
        } else {
            (100.0 + score as f64 + 0.5 * gain as f64 + noise).to_string()
        };
        format!("{age},{score},{hours},{sales}\n")
    };
    "age,score,hours,sales\n".to_owned() + &(0..400).map(row).collect::<String>()
}

#[test]
fn a_summary_says_who_gains_how_sure_and_for_whom_there_is_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.csv"), training_csv()).unwrap();
    succeed(
        folder,
        &format!(
            "fit a.csv --x age,score --t hours --y sales --y-kind number --classes 1 {FIT} --out m.cfqp -q"
        ),
    );
    let own = page(folder, "m.cfqp a.csv --from 14 --to 26");
    let (_, summary) = own.split_once("Summary</h2>").unwrap();
    let (summary, _) = summary.split_once("</section>").unwrap();
    assert!(
        summary.contains("would raise sales by ") && summary.contains("On 399 units, corrected"),
        "{summary}"
    );
    assert!(
        summary.contains("Effects differ most by age: at age ") && summary.contains("p &lt; 0.001"),
        "{summary}"
    );
    assert!(summary.contains("1 unit not used: no outcome"), "{summary}");
    assert!(summary.contains("badge ok") && summary.contains("For whom there is no answer"), "{summary}");
    // the balance of the covariates
    assert!(own.contains("Were the units alike before the treatment?") && own.contains("(score)"));
    // 41 whole numbers: bars hold two of them each, or three
    let (_, histogram) = own.split_once("<svg role=\"img\" aria-label=\"Histogram of hours\"").unwrap();
    let tips: Vec<&str> = histogram.split("</svg>").next().unwrap().split("data-tip=\"").skip(1).collect();
    assert!(tips.len() < 25 && tips[0].starts_with("0 to 2: "), "{} {}", tips.len(), tips[0]);
    // limits are in words, and unfolded by the reader
    assert!(own.contains("<summary>How it is graded</summary>") && !own.contains("Figure: "));
    let report: Value =
        serde_json::from_str(&succeed(folder, "report m.cfqp a.csv --from 14 --to 26 --out j.html --json"))
            .unwrap();
    assert_eq!(report["effects"]["subgroups"][0]["covariate"], "age");
    assert_eq!(report["balance"]["covariates"][0]["name"], "score");
    assert_eq!(report["effects"]["units"], 399);
}

#[test]
fn outcomes_are_shown_against_treatments_of_both_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let row = |i: usize| {
        let (age, drug, dose) = (i % 7, ["A", "B", "B"][i % 3], (i * 37 % 100) as f64 / 100.0);
        let colour = ["red", "green", "blue"][(i / 3 + i % 5) % 3];
        let recovered = if i % 5 < 2 { "yes" } else { "no" };
        let pressure =
            if i == 10 { String::new() } else { (age as f64 + dose + (i % 4) as f64 / 3.0).to_string() };
        format!("{age},{drug},{dose},{pressure},{colour},{recovered}\n")
    };
    let csv = "age,drug,dose,pressure,colour,recovered\n".to_owned() + &(0..240).map(row).collect::<String>();
    std::fs::write(folder.join("a.csv"), csv).unwrap();
    let columns = "--x age --t drug,dose --y pressure,colour,recovered";
    succeed(folder, &format!("fit a.csv {columns} --classes 1 {FIT} --out m.cfqp -q"));
    let own = page(folder, "m.cfqp a.csv");
    for outcome in ["pressure", "colour", "recovered"] {
        for label in [format!("Histogram of {outcome}\""), format!("{outcome} against drug, as observed\"")] {
            assert_eq!(own.matches(&label).count(), 1, "{label}");
        }
    }
    assert!(own.contains("recovered: share of yes") && own.contains("colour: share of units"));
    assert!(own.contains("not adjusted for covariates or hidden classes, so not an effect."));
    assert!(own.contains("<h2 id=\"curves-heading\">Outcome by treatment</h2>"));
    assert!(own.contains("Dose-response curves over dose") && own.contains("All units have drug B;"));
    let report: Value =
        serde_json::from_str(&succeed(folder, "report m.cfqp a.csv --out j.html --json")).unwrap();
    let observed = &report["data"]["observed"];
    assert_eq!((&observed[0]["kind"], &observed[1]["kind"]), (&"number".into(), &"category".into()));
    assert_eq!((&observed[0]["units"], &observed[1]["units"]), (&239.into(), &240.into()));
    assert_eq!(observed[1]["labels"].as_array().unwrap().len(), 3);
    let by_drug = &observed[2]["by_treatment"][0]["groups"];
    assert_eq!((&by_drug[1]["level"], &by_drug[1]["units"]), (&"B".into(), &160.into()));
    assert_eq!(report["dose_curves"]["grid"].as_array().unwrap().len(), 13);
}

#[test]
fn a_failed_report_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit_small_table(folder);
    let before = listing(folder);
    let fail = |args: &[&str]| {
        let output = cfqp(folder, &[&["report", "m.cfqp", "a.csv", "--out", "r.html"], args].concat());
        assert_eq!((output.status.code(), listing(folder) == before), (Some(2), true));
        text(&output.stderr)
    };
    let missing = fail(&["--units", "u3,nobody"]);
    assert!(missing.starts_with("error: a.csv: unit `nobody` does not exist"), "{missing}");
    assert!(fail(&["--from", "0.1,0.2"]).contains("hint: "));
    assert!(fail(&["--level", "2"]).contains("level"));
    std::fs::write(folder.join("r.html"), "mine").unwrap();
    let kept = cfqp(folder, &["report", "m.cfqp", "a.csv", "--out", "r.html"]);
    assert!(text(&kept.stderr).contains("the file already exists"));
}

/// Reports on stderr that the browser test is skipped; written directly, because the test harness captures `eprintln`.
fn skip(reason: &str) {
    let line = format!("SKIPPED a_browser_opens_the_page_without_errors: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// A browser, if one is installed.
fn chromium() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&paths)
        .flat_map(|path| names.map(|name| path.join(name)))
        .find(|path| path.is_file())
}

#[test]
fn a_browser_opens_the_page_without_errors() {
    let Some(chromium) = chromium() else {
        skip("chromium is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit_small_table(folder);
    page(folder, "m.cfqp a.csv");
    let file = |name: &str| std::fs::File::create(folder.join(name)).unwrap();
    let flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
                 --disable-component-update --disable-sync --enable-logging=stderr --dump-dom";
    let mut browser = Command::new(chromium)
        .args(flags.split_whitespace())
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", folder.join("report.html").display()))
        .stdout(Stdio::from(file("dom")))
        .stderr(Stdio::from(file("log")))
        .spawn()
        .unwrap();
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(folder.join(name)).unwrap()).into_owned();
    let start = Instant::now();
    while browser.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!("the browser did not finish within a minute: {}", read("log"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let (dom, log) = (read("dom"), read("log"));
    assert!(browser.wait().unwrap().success(), "the browser failed: {log}");
    assert!(!dom.is_empty(), "the browser shows nothing: {log}");
    assert!(dom.contains("<option value=\"all\">"), "the script does not add the choice of units");
    assert!(!log.contains("CONSOLE"), "{log}");
}
