//! How well classes were found, whatever they are called.

/// How often each pair of a true and a found class occurs, `[true, found]`.
fn table(truth: &[usize], found: &[usize]) -> Vec<Vec<f64>> {
    assert_eq!(truth.len(), found.len(), "every unit has a true and a found class");
    let size = |labels: &[usize]| labels.iter().max().map_or(0, |most| most + 1);
    let mut table = vec![vec![0.0; size(found)]; size(truth)];
    truth.iter().zip(found).for_each(|(&truth, &found)| table[truth][found] += 1.0);
    table
}

/// For each found class the true one it stands for, so that most units are right; a true class is taken once,
/// and where more classes were found than there are, some stand for none.
///
/// # Panics
/// If `truth` and `found` are of different length.
pub fn best_matching(truth: &[usize], found: &[usize]) -> Vec<Option<usize>> {
    let table = table(truth, found);
    let (rows, columns) = (table.len(), table.first().map_or(0, Vec::len));
    let size = rows.max(columns);
    let cost = |row: usize, column: usize| {
        table.get(row).and_then(|row| row.get(column)).map_or(0.0, |count| -count)
    };
    let matched = assign(size, cost);
    (0..columns).map(|column| Some(matched[column]).filter(|&row| row < rows)).collect()
}

/// The share of units whose class is right under the [best matching](best_matching); 1 for no units.
///
/// # Panics
/// If `truth` and `found` are of different length.
pub fn class_accuracy(truth: &[usize], found: &[usize]) -> f64 {
    if truth.is_empty() {
        return 1.0;
    }
    let matching = best_matching(truth, found);
    let right = truth.iter().zip(found).filter(|(truth, found)| matching[**found] == Some(**truth));
    right.count() as f64 / truth.len() as f64
}

/// The row of each column in a cheapest assignment of `size` rows to `size` columns.
///
/// The Hungarian method, O(size^3): rows are added one by one, each along a shortest augmenting path under
/// potentials u, v with cost(i, j) - u_i - v_j >= 0, and = 0 where assigned.
fn assign(size: usize, cost: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    // Column `size` is where a path starts: it holds the row that is being added.
    let (mut u, mut v) = (vec![0.0; size], vec![0.0; size + 1]);
    let mut row_of = vec![None; size + 1];
    for row in 0..size {
        row_of[size] = Some(row);
        let mut end = size;
        let mut slack = vec![f64::INFINITY; size];
        let (mut from, mut done) = (vec![size; size], vec![false; size + 1]);
        while let Some(row) = row_of[end] {
            done[end] = true;
            for column in (0..size).filter(|&column| !done[column]) {
                let reduced = cost(row, column) - u[row] - v[column];
                if reduced < slack[column] {
                    (slack[column], from[column]) = (reduced, end);
                }
            }
            let open = (0..size).filter(|&column| !done[column]);
            let Some(next) = open.min_by(|&a, &b| slack[a].total_cmp(&slack[b])) else { break };
            let step = slack[next];
            for column in 0..=size {
                match row_of[column] {
                    Some(row) if done[column] => (u[row], v[column]) = (u[row] + step, v[column] - step),
                    _ if column < size => slack[column] -= step,
                    _ => (),
                }
            }
            end = next;
        }
        while end != size {
            row_of[end] = row_of[from[end]];
            end = from[end];
        }
    }
    row_of[..size].iter().map(|row| row.unwrap_or(size)).collect()
}

/// The adjusted Rand index: of the pairs of units, the share on which two groupings agree, scaled so that chance
/// gives 0 and equal groupings give 1.
///
/// ARI = (sum_ij C(n_ij) - E) / ((A + B) / 2 - E), with C(n) = n (n - 1) / 2, A = sum_i C(n_i.),
/// B = sum_j C(n_.j) and E = A B / C(n).
///
/// # Panics
/// If `truth` and `found` are of different length.
pub fn adjusted_rand_index(truth: &[usize], found: &[usize]) -> f64 {
    let table = table(truth, found);
    let pairs = |count: f64| count * (count - 1.0) / 2.0;
    let both: f64 = table.iter().flatten().map(|&count| pairs(count)).sum();
    let a: f64 = table.iter().map(|row| pairs(row.iter().sum())).sum();
    let columns = table.first().map_or(0, Vec::len);
    let b: f64 = (0..columns).map(|column| pairs(table.iter().map(|row| row[column]).sum())).sum();
    let all = pairs(truth.len() as f64);
    let expected = if all > 0.0 { a * b / all } else { 0.0 };
    let most = (a + b) / 2.0;
    // Both groupings are one group, or all units apart: they are equal.
    if most == expected { 1.0 } else { (both - expected) / (most - expected) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_do_not_matter_and_numbers_of_classes_may_differ() {
        assert_eq!(class_accuracy(&[0, 0, 1, 1], &[1, 1, 0, 0]), 1.0);
        assert_eq!(best_matching(&[0, 0, 1, 1], &[3, 3, 0, 0]), [Some(1), None, None, Some(0)]);
        assert_eq!(class_accuracy(&[0, 0, 1, 1, 2, 2], &[0; 6]), 2.0 / 6.0);
        assert_eq!(class_accuracy(&[0; 6], &[0, 0, 0, 1, 1, 2]), 0.5);
        assert_eq!(class_accuracy(&[], &[]), 1.0);
        let truth: Vec<usize> = (0..400).map(|i| i % 20).collect();
        let found: Vec<usize> = truth.iter().map(|class| (class * 7 + 3) % 20).collect();
        assert_eq!((class_accuracy(&truth, &found), adjusted_rand_index(&truth, &found)), (1.0, 1.0));
    }

    #[test]
    fn a_greedy_matching_would_be_worse() {
        // Counts [[5, 4], [4, 0]]: 5 + 0 by the largest first, 4 + 4 at best.
        let truth = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1];
        let found = [0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0];
        assert_eq!(class_accuracy(&truth, &found), 8.0 / 13.0);
    }

    #[test]
    fn rand_indices_are_those_of_scikit_learn() {
        assert!((adjusted_rand_index(&[0, 0, 1, 2], &[0, 0, 1, 1]) - 4.0 / 7.0).abs() < 1e-12);
        assert!((adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-12);
        assert_eq!(adjusted_rand_index(&[0, 0, 0, 0], &[0, 1, 2, 3]), 0.0);
        for alike in [&[][..], &[0], &[0, 0, 0], &[0, 1, 2]] {
            assert_eq!(adjusted_rand_index(alike, alike), 1.0);
        }
    }

    /// The best of all permutations of `0..size`, one by one.
    fn exhaustive(size: usize, cost: &dyn Fn(usize, usize) -> f64, column: usize, taken: u32) -> f64 {
        if column == size {
            return 0.0;
        }
        let free = (0..size).filter(|row| taken & 1 << row == 0);
        let costs = free.map(|row| cost(row, column) + exhaustive(size, cost, column + 1, taken | 1 << row));
        costs.fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn the_assignment_is_the_cheapest(size in 1_usize..7, costs in prop::collection::vec(0_u8..50, 36)) {
            let cost = |row: usize, column: usize| f64::from(costs[row * size + column]) - 20.0;
            let rows = assign(size, cost);
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..size).collect::<Vec<_>>());
            let total: f64 = rows.iter().enumerate().map(|(column, &row)| cost(row, column)).sum();
            prop_assert_eq!(total, exhaustive(size, &cost, 0, 0));
        }
    }
}
