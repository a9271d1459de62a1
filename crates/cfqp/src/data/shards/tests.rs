use rand::seq::SliceRandom as _;

use super::*;
use crate::data::Units;

const FORM: RecordForm = RecordForm { x: 2, t: 1, y: 1, grouped: false };

/// Units, some of which are equal and some of which lack a covariate.
fn units(n: usize) -> Dataset {
    let mut rng = stream(1, &["units"]);
    let x: Vec<f32> =
        (0..2 * n).map(|i| if i % 3 == 0 { 1.0 } else { rng.random_range(0..40) as f32 }).collect();
    let mask = (0..2 * n).map(|i| i % 11 != 0).collect();
    let x = Units::with_mask("x", vec![2], x, Some(mask)).unwrap();
    let t = Units::new("t", vec![1], (0..n).map(|i| (i % 2) as f32).collect()).unwrap();
    let y = Units::new("y", vec![1], (0..n).map(|_| rng.random_range(0..4) as f32).collect()).unwrap();
    Dataset::new(x, t, y).unwrap()
}

fn deal(parts: &[Dataset], subjects: Option<&[Vec<u64>]>, rows: usize) -> DealtUnits {
    let folder = tempfile::tempdir().unwrap();
    let sizes = ShardSizes { sample: 100, shard_bytes: 4000 };
    let form = RecordForm { grouped: subjects.is_some(), ..FORM };
    let mut buckets = UnitBuckets::new(form, rows, sizes, folder.path()).unwrap();
    for (i, part) in parts.iter().enumerate() {
        buckets.add(part, subjects.map(|subjects| &subjects[i][..])).unwrap();
    }
    let dealt = buckets.deal(&()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    dealt
}

fn all(dealt: &DealtUnits) -> Vec<Dataset> {
    let shards = (0..dealt.shards.len()).filter_map(|i| dealt.shards.read(i).unwrap());
    std::iter::once(dealt.sample.clone()).chain(shards).collect()
}

#[test]
fn what_is_dealt_depends_on_the_units_alone() {
    let data = units(2000);
    let whole = deal(std::slice::from_ref(&data), None, 2000);
    let mut order: Vec<usize> = (0..2000).collect();
    order.shuffle(&mut stream(2, &["order"]));
    let cut: Vec<Dataset> = order.chunks(300).map(|rows| data.pick(rows).unwrap()).collect();
    let other = deal(&cut, None, 2000);
    assert!(all(&whole) == all(&other));
    assert_eq!(whole.shards.len(), 8);
    assert_eq!(whole.content_hash, Some(data.content_hash()));
    assert_eq!(other.content_hash, whole.content_hash);
    assert!(whole.shards.missing_x);
    let parts = all(&whole);
    let together = Dataset::concat(&parts.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(together.content_hash(), data.content_hash(), "no unit is lost or changed");
    assert_eq!(whole.shards.subjects + whole.shards.sample_subjects, 2000);
    assert!((60..140).contains(&whole.sample.len()), "{}", whole.sample.len());
}

#[test]
fn equal_units_are_spread_over_sample_and_shards() {
    let ones = |n: usize| Units::new("a", vec![1], vec![1.0; n]).unwrap();
    let x = Units::new("x", vec![2], vec![1.0; 4000]).unwrap();
    let data = Dataset::new(x, ones(2000), ones(2000)).unwrap();
    let dealt = deal(&[data], None, 2000);
    let sizes: Vec<usize> = all(&dealt).iter().map(Dataset::len).collect();
    assert!(sizes[1..].iter().all(|size| (180..300).contains(size)), "{sizes:?}");
    assert!((60..140).contains(&sizes[0]), "{sizes:?}");
}

#[test]
fn subjects_stay_whole() {
    let data = units(2000);
    // seven rows per subject, far from each other
    let subject = |row: usize| fnv1a((row % 286).to_le_bytes());
    let subjects: Vec<u64> = (0..2000).map(subject).collect();
    let rows: [Vec<usize>; 2] = [(0..900).collect(), (900..2000).collect()];
    let cut: Vec<Dataset> = rows.iter().map(|rows| data.pick(rows).unwrap()).collect();
    let of_parts: Vec<Vec<u64>> =
        rows.iter().map(|rows| rows.iter().map(|&row| subjects[row]).collect()).collect();
    let dealt = deal(&cut, Some(&of_parts), 2000);
    let parts = all(&dealt);
    let counted: usize = parts.iter().map(|part| part.subjects().unwrap()).sum();
    assert_eq!(counted, 286, "no subject is in two parts");
    assert_eq!(parts.iter().map(Dataset::len).sum::<usize>(), 2000);
    assert_eq!((dealt.shards.subjects + dealt.shards.sample_subjects, dealt.content_hash), (286, None));
    let grouped = data.with_groups((0..2000).map(|row| row % 286).collect()).unwrap();
    let together = Dataset::concat(&parts.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(together.content_hash(), grouped.content_hash());
}

#[test]
fn a_subject_that_does_not_fit_in_memory_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let form = RecordForm { grouped: true, ..FORM };
    let sizes = ShardSizes { sample: 10, shard_bytes: 100 };
    let mut buckets = UnitBuckets::new(form, 2000, sizes, folder.path()).unwrap();
    let n = 2000;
    let numbers =
        |width: usize| Units::new("a", vec![width], (0..n * width).map(|i| i as f32).collect()).unwrap();
    buckets.add(&Dataset::new(numbers(2), numbers(1), numbers(1)).unwrap(), Some(&vec![7; n])).unwrap();
    let error = buckets.deal(&()).err().unwrap();
    assert!(error.to_string().starts_with("group: one subject has rows of more than"), "{error}");
}

#[test]
fn shards_of_large_tables_take_little_memory() {
    let form = RecordForm { x: 18, t: 1, y: 1, grouped: false };
    let sizes = |rows: usize| ShardSizes::new(50_000, rows, form);
    assert_eq!(sizes(10_000_000).shards(10_000_000, form), 48);
    assert!(sizes(100_000_000).memory(100_000_000, form) < 300 << 20);
    let wide = RecordForm { x: 500, ..form };
    assert!(ShardSizes::new(50_000, 100_000_000, wide).memory(100_000_000, wide) < 2 << 30);
}
