//! Writes the results, tables and figures of an experiment.

use std::path::Path;

use cfqp_cli::error::{Failure, Result};
use cfqp_cli::files::write_text;
use cfqp_cli::output::to_pretty_json;

use super::figures::SweepFigure;
use super::plan::{Experiment, swept_name};
use super::scenario::Scenario;
use super::tables::{self, Grid};
use super::{Outcome, Results, class_search};

/// Writes everything to the experiment's folder in `out` and returns the tables as text.
pub(super) fn write(results: &Results, out: &Path) -> Result<String> {
    let folder = out.join(results.experiment.name());
    std::fs::create_dir_all(&folder).map_err(|error| Failure::io(&folder, error))?;
    let mut grids = tables::grids(results.experiment, &results.outcomes);
    grids.extend(class_search::grids(&results.class_searches));
    write_text(&folder.join("results.json"), &to_pretty_json(results)?)?;
    write_text(&folder.join("table.md"), &grids.iter().map(Grid::markdown).collect::<String>())?;
    write_text(&folder.join("table.tex"), &grids.iter().map(Grid::latex).collect::<String>())?;
    draw_charts(results, &folder)?;
    if matches!(results.experiment, Experiment::Table1 | Experiment::Ssim) {
        draw_galleries(results, &folder)?;
    }
    Ok(grids.iter().map(|grid| grid.text() + "\n").collect())
}

/// A chart of errors for every data set on which something is swept.
fn draw_charts(results: &Results, folder: &Path) -> Result<()> {
    let mut scenarios: Vec<Scenario> = results.outcomes.iter().map(|outcome| outcome.scenario).collect();
    scenarios.dedup_by_key(|scenario| scenario.name());
    for scenario in scenarios {
        let Some(swept) = swept_name(results.experiment, &scenario) else { continue };
        let name = scenario.name();
        let outcomes: Vec<Outcome> =
            results.outcomes.iter().filter(|outcome| outcome.data == name).cloned().collect();
        let search = results.class_searches.iter().find(|search| search.data == name);
        if let Some(figure) = SweepFigure::new(&name, swept, &outcomes, search) {
            write_figure(folder, &name, &figure.draw())?;
        }
    }
    Ok(())
}

fn draw_galleries(results: &Results, folder: &Path) -> Result<()> {
    for gallery in &results.galleries {
        write_figure(folder, &format!("{}, units", gallery.scenario.name()), &gallery.draw())?;
    }
    Ok(())
}

fn write_figure(folder: &Path, name: &str, svg: &str) -> Result<()> {
    let file = name.replace(", ", "-").replace(' ', "-");
    write_text(&folder.join(format!("{file}.svg")), svg)
}
