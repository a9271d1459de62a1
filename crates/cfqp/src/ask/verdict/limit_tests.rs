//! The limits of grades in docs/ASSUMPTIONS.md are those of the code.

use super::agreement::MAX_DISTANCES;
use super::classes::{CLASS_SIZE, SEPARATION, TABLE_SEPARATION};
use super::contrast::IDENTIFIED;
use super::coverage_limits;
use super::fit::{MEMBERS_AGREE, MIN_AGREEMENT, MIN_CHANCE_R2, MIN_R2, SAME_ANSWERS};
use super::grade::VerdictLimits;
use super::support::SUPPORT;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ASSUMPTIONS.md"));

#[test]
fn the_page_on_assumptions_has_the_limits_of_the_code() {
    let shares = |limits: VerdictLimits| format!("| from {} | below {}", limits.ok, limits.failed);
    let calibration = coverage_limits(0.0);
    let expected = [
        ("separation (larger outcomes)", shares(SEPARATION)),
        ("separation (tables)", format!("| from {} | never |", TABLE_SEPARATION.ok)),
        ("overlap", shares(SUPPORT)),
        ("identification", format!("| from {} | never |", IDENTIFIED.ok)),
        ("agreement of starts (larger outcomes)", shares(SAME_ANSWERS)),
        ("agreement of starts (tables)", shares(MEMBERS_AGREE)),
        (
            "calibration",
            format!(
                "| from {} below the level | more than {} below it |",
                -calibration.ok, -calibration.failed
            ),
        ),
        ("number of classes", shares(CLASS_SIZE)),
        ("predictive power", format!("| from {MIN_R2}; from {MIN_CHANCE_R2} if")),
        (
            "agreement with plain estimates",
            format!("| up to {} | above {} |", MAX_DISTANCES.ok, MAX_DISTANCES.failed),
        ),
    ];
    let grades = PAGE.split_once("### Grades").unwrap().1;
    for (name, limits) in expected {
        let row = grades.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
        assert!(row.contains(&limits), "{name}: `{limits}` is not in `{row}`");
    }
    for reason in [
        format!("the mean agreement of starts is below {MIN_AGREEMENT}"),
        format!("gains more than {} of what", super::classes::MAX_FURTHER_GAIN),
        format!("fewer than {} units per given class", crate::density::SUBJECTS_PER_CLASS),
        format!(
            "cover more than {}\nabove a level below {}",
            super::MAX_EXCESS_COVERAGE,
            super::MAX_EXCESS_LEVEL
        ),
    ] {
        assert!(grades.contains(&reason), "{reason}");
    }
    assert_eq!(IDENTIFIED.failed, 0.0);
}
