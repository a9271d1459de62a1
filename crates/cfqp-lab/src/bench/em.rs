//! M step and E step for several numbers of classes.

use cfqp::measure::{Em, Workload};

use super::{Bench, Row, Topic, median, seconds};
use cfqp_cli::error::Result;

const BATCH: usize = 128;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let workload = find_workload("unet-1d");
    let (n, rounds) = if bench.quick { (256, 1) } else { (9 * BATCH * 4, 5) };
    let classes = [1, 3, 9];
    let mut all: Vec<Em> = classes
        .iter()
        .map(|&k| Em::new(&workload, n, k, BATCH, bench.threads))
        .collect::<cfqp::Result<_>>()?;
    let (mut m, mut e) = (vec![Vec::new(); 3], vec![Vec::new(); 3]);
    all.iter_mut().for_each(Em::m_step); // warm up
    for _ in 0..rounds {
        for (i, em) in all.iter_mut().enumerate() {
            m[i].push(seconds(|| em.m_step()).0);
            e[i].push(seconds(|| em.e_step()).0);
        }
    }
    let ratio = median(m[2].iter().zip(&m[0]).map(|(nine, one)| nine / one).collect());
    let mut rows = Vec::new();
    for (i, k) in classes.into_iter().enumerate() {
        let note = if k == 9 { format!("{ratio:.2} times K = 1") } else { String::new() };
        let name = format!("M-step epoch, unet-1d, {n} units, K = {k}");
        rows.push(Row::new(Topic::Em, name, median(m[i].clone()), "s").with_note(note));
    }
    for (i, k) in classes.into_iter().enumerate() {
        let name = format!("E step, unet-1d, {n} units, K = {k}");
        rows.push(Row::new(Topic::Em, name, median(e[i].clone()), "s"));
    }
    Ok(rows)
}

/// One epoch of the published algorithm on images: M step every epoch, E step every tenth.
pub(super) fn images(bench: &Bench) -> Result<Vec<Row>> {
    let (n, classes) = (if bench.quick { 256 } else { 42_000 }, 6);
    let mut em = Em::new(&find_workload("unet-2d"), n, classes, BATCH, bench.threads)?;
    let m = seconds(|| em.m_step()).0;
    let e = seconds(|| em.e_step()).0;
    let name = |what: &str| format!("{what}, unet-2d, {n} images, K = {classes}");
    Ok(vec![
        Row::new(Topic::Images, name("M-step epoch"), m, "s"),
        Row::new(Topic::Images, name("E step"), e, "s"),
        Row::new(Topic::Images, name("EM epoch"), m + 0.1 * e, "s").with_note("an E step every tenth epoch"),
    ])
}

fn find_workload(name: &str) -> Workload {
    Workload::all().into_iter().find(|workload| workload.name == name).expect("the workload exists")
}
