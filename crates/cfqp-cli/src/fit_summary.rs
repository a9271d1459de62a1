//! The results of a fit as text.

use std::fmt::Write as _;

use cfqp::data::OutcomeKind;
use cfqp::{ClassScore, ClassWeights, FitReport, Model, SplitSizes, StartReport};

use crate::format::{align_rows, format_count, format_short, pluralise};

/// How the classes share networks.
pub(crate) fn sharing_name(fitted: &Model) -> &'static str {
    if fitted.is_shared() { "conditional" } else { "separate" }
}

/// A summary of a fit for the terminal.
pub(crate) fn summarise_fit(fitted: &Model) -> String {
    let report = fitted.fit_report();
    let SplitSizes { train, validation, calibration } = report.units;
    let [train, valid, calibration] = [train, validation, calibration].map(format_count);
    let mut text = candidates_text(report) + &starts_text(report);
    let classes = if fitted.classes() == 1 { "class" } else { "classes" };
    let networks = if report.units.validation == 0 {
        "mixture density networks"
    } else if fitted.is_shared() {
        "one shared network with the class as input"
    } else {
        "one network per class"
    };
    let sizes: Vec<String> = report.class_sizes.iter().map(|&size| format_count(size)).collect();
    let _ = writeln!(
        text,
        "fitted {} {classes} ({} units): {}, {networks}, {}",
        fitted.classes(),
        sizes.join(", "),
        fitted.base(),
        pluralise(fitted.members(), "member"),
    );
    if report.units.validation == 0 {
        let _ = writeln!(text, "units: {train}, each held out in turn");
        text += &density_text(fitted);
    } else {
        let _ = writeln!(
            text,
            "units: {train} for training, {valid} for selection, {calibration} for calibration"
        );
    }
    let _ = writeln!(
        text,
        "held-out units: mse {}, -log-likelihood {:.2}; delta_hat {}",
        format_short(report.val_mse),
        report.val_nll,
        format_short(report.delta_hat)
    );
    report.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text
}

fn candidates_text(report: &FitReport) -> String {
    if report.candidates.is_empty() {
        return String::new();
    }
    let units = match report.units.validation {
        0 => "units held out in turn".to_owned(),
        units => format!("{} held-out units", format_count(units)),
    };
    format!("candidates on {units}:\n{}", candidates_table(&report.candidates))
}

/// The class weights, the noise and the outcome scale that were chosen on held-out likelihood.
fn density_text(fitted: &Model) -> String {
    let weights = match fitted.class_weights() {
        _ if fitted.classes() == 1 => String::new(),
        ClassWeights::Constant => "class weights: the same for all units; ".to_owned(),
        ClassWeights::Covariates => "class weights: by covariates; ".to_owned(),
        ClassWeights::CovariatesAndTreatment => "class weights: by covariates and treatment; ".to_owned(),
    };
    let kinds = fitted.outcome_kinds();
    let others: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    let others = match kinds.iter().all(|kind| *kind == OutcomeKind::Number) {
        true => String::new(),
        false => format!("kinds of outcomes: {}; ", others.join(", ")),
    };
    let has_amounts = kinds.iter().any(|kind| matches!(kind, OutcomeKind::Number | OutcomeKind::Amount));
    if !has_amounts {
        return format!("{others}{weights}").trim_end_matches("; ").to_owned() + "\n";
    }
    let scale = if fitted.scale_depends_on_treatment() { "varying" } else { "constant" };
    let outcome = if fitted.is_log_scale() { "logarithmic" } else { "linear" };
    let law = fitted.noise_law().name();
    format!("{others}{weights}noise: {law}, {scale} scale; outcome scale: {outcome}\n")
}

/// The rule by which the number of classes was chosen.
const RULE: &str =
    "chosen: the smallest number of classes that no larger one beats by more than 2 standard errors\n";

/// The scores of base models and numbers of classes on held-out units.
pub(crate) fn candidates_table(tried: &[ClassScore]) -> String {
    if tried.iter().all(|tried| tried.mse.is_none()) {
        return compared_table(tried);
    }
    let head = ["base", "classes", "-log-likelihood", "full covariance", "score", "mse", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(tried.iter().map(|tried| {
        let mark = if tried.chosen { "<- chosen" } else { "" };
        let [nll, full_nll, score] =
            [tried.nll, tried.full_nll, tried.score()].map(|value| format!("{value:.2}"));
        let (base, classes) = (tried.base.to_string(), tried.classes.to_string());
        vec![
            base,
            classes,
            nll,
            full_nll,
            score,
            tried.mse.map_or(String::new(), format_short),
            mark.to_owned(),
        ]
    }));
    align_rows(&rows)
}

/// Scores of numbers of classes without a penalty, with the standard error of each difference from the chosen one.
fn compared_table(tried: &[ClassScore]) -> String {
    let head = ["classes", "-log-likelihood", "minus chosen", "standard error", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    let chosen = tried.iter().find(|tried| tried.chosen).map_or(0.0, |tried| tried.nll);
    rows.extend(tried.iter().map(|tried| {
        let error = tried.gain_error.map_or(String::new(), |error| format!("{error:.3}"));
        let difference = if tried.chosen { String::new() } else { format!("{:+.3}", tried.nll - chosen) };
        let mark = if tried.chosen { "<- chosen" } else { "" };
        vec![tried.classes.to_string(), format!("{:.3}", tried.nll), difference, error, mark.to_owned()]
    }));
    let rule = if tried.len() > 1 { RULE } else { "" };
    align_rows(&rows) + rule
}

fn starts_text(report: &FitReport) -> String {
    if report.starts.is_empty() {
        return String::new();
    }
    let name = |start: &&StartReport| format!("{} {:.2}", start.start.name(), start.agreement);
    let starts: Vec<String> = report.best_starts().iter().map(name).collect();
    format!("starts, best first, with their agreement with the best: {}\n", starts.join(", "))
}
