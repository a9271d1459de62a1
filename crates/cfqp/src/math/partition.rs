//! Agreement of two partitions of the same units, whatever their classes are called.

/// The number of units in each pair of a true and a found class, `[true, found]`.
fn contingency_table(truth: &[usize], found: &[usize]) -> Vec<Vec<f64>> {
    assert_eq!(truth.len(), found.len(), "every unit has a true and a found class");
    let size = |labels: &[usize]| labels.iter().max().map_or(0, |max| max + 1);
    let mut table = vec![vec![0.0; size(found)]; size(truth)];
    truth.iter().zip(found).for_each(|(&truth, &found)| table[truth][found] += 1.0);
    table
}

/// The true class that each found class stands for in the one-to-one matching that puts most units in their true class;
/// none for found classes that are left over.
///
/// # Panics
/// If `truth` and `found` are of different lengths.
pub fn best_matching(truth: &[usize], found: &[usize]) -> Vec<Option<usize>> {
    let table = contingency_table(truth, found);
    let (rows, columns) = (table.len(), table.first().map_or(0, Vec::len));
    let size = rows.max(columns);
    let cost = |row: usize, column: usize| {
        table.get(row).and_then(|row| row.get(column)).map_or(0.0, |count| -count)
    };
    let matched = min_cost_assignment(size, cost);
    (0..columns).map(|column| Some(matched[column]).filter(|&row| row < rows)).collect()
}

/// The share of units in their true class under the [best matching](best_matching); 1 for no units.
///
/// # Panics
/// If `truth` and `found` are of different lengths.
pub fn class_accuracy(truth: &[usize], found: &[usize]) -> f64 {
    if truth.is_empty() {
        return 1.0;
    }
    let matching = best_matching(truth, found);
    let correct = truth.iter().zip(found).filter(|(truth, found)| matching[**found] == Some(**truth));
    correct.count() as f64 / truth.len() as f64
}

/// The row of each column in the one-to-one matching of rows and columns with the largest total of `table` `[size, size]`.
pub(crate) fn best_assignment(table: &[f64], size: usize) -> Vec<usize> {
    min_cost_assignment(size, |row, column| -table[row * size + column])
}

/// The row of each column in an assignment of `size` rows to `size` columns at minimal cost.
///
/// The Hungarian method, O(size^3): rows are added one by one, each along a shortest augmenting path under
/// potentials u, v with cost(i, j) - u_i - v_j >= 0, and = 0 where assigned.
fn min_cost_assignment(size: usize, cost: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    // Column `size` is the start of a path: it holds the row that is being added.
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

/// The adjusted Rand index: the share of pairs of units on which two partitions agree, scaled so that chance gives 0
/// and equal partitions give 1.
///
/// ARI = (sum_ij C(n_ij) - E) / ((A + B) / 2 - E), with C(n) = n (n - 1) / 2, A = sum_i C(n_i.),
/// B = sum_j C(n_.j) and E = A B / C(n).
///
/// # Panics
/// If `truth` and `found` are of different lengths.
pub fn adjusted_rand_index(truth: &[usize], found: &[usize]) -> f64 {
    let table = contingency_table(truth, found);
    let pairs = |count: f64| count * (count - 1.0) / 2.0;
    let both: f64 = table.iter().flatten().map(|&count| pairs(count)).sum();
    let a: f64 = table.iter().map(|row| pairs(row.iter().sum())).sum();
    let columns = table.first().map_or(0, Vec::len);
    let b: f64 = (0..columns).map(|column| pairs(table.iter().map(|row| row[column]).sum())).sum();
    let all = pairs(truth.len() as f64);
    let expected = if all > 0.0 { a * b / all } else { 0.0 };
    let max = (a + b) / 2.0;
    // both partitions are one class, or both have a class per unit: they are equal
    if max == expected { 1.0 } else { (both - expected) / (max - expected) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn class_names_do_not_matter_and_numbers_of_classes_may_differ() {
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
    fn the_matching_is_better_than_a_greedy_one() {
        // counts [[5, 4], [4, 0]]: a greedy matching gets 5 + 0 right, the best 4 + 4
        let truth = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1];
        let found = [0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0];
        assert_eq!(class_accuracy(&truth, &found), 8.0 / 13.0);
    }

    #[test]
    fn rand_indices_agree_with_scikit_learn() {
        assert!((adjusted_rand_index(&[0, 0, 1, 2], &[0, 0, 1, 1]) - 4.0 / 7.0).abs() < 1e-12);
        assert!((adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-12);
        assert_eq!(adjusted_rand_index(&[0, 0, 0, 0], &[0, 1, 2, 3]), 0.0);
        for labels in [&[][..], &[0], &[0, 0, 0], &[0, 1, 2]] {
            assert_eq!(adjusted_rand_index(labels, labels), 1.0);
        }
    }

    /// The minimal cost over all permutations of `0..size`.
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
        fn the_assignment_has_the_minimal_cost(size in 1_usize..7, costs in prop::collection::vec(0_u8..50, 36)) {
            let cost = |row: usize, column: usize| f64::from(costs[row * size + column]) - 20.0;
            let rows = min_cost_assignment(size, cost);
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..size).collect::<Vec<_>>());
            let total: f64 = rows.iter().enumerate().map(|(column, &row)| cost(row, column)).sum();
            prop_assert_eq!(total, exhaustive(size, &cost, 0, 0));
        }
    }
}
