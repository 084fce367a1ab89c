//! Small symmetric matrices: those of a few prices.

/// A square matrix.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    size: usize,
    cells: Vec<f64>,
}

impl Matrix {
    pub(super) fn of(size: usize, cell: impl Fn(usize, usize) -> f64) -> Self {
        let cells = (0..size).flat_map(|row| (0..size).map(move |column| (row, column)));
        Self { size, cells: cells.map(|(row, column)| cell(row, column)).collect() }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.cells.get(row * self.size + column).copied().unwrap_or(0.0)
    }

    fn put(&mut self, row: usize, column: usize, value: f64) {
        if let Some(cell) = self.cells.get_mut(row * self.size + column) {
            *cell = value;
        }
    }

    /// The x for which this times x is `right`, by elimination; `None` where the matrix is not positive definite.
    pub(super) fn solve(&self, right: &[f64]) -> Option<Vec<f64>> {
        let (mut left, mut x) = (self.clone(), right.to_vec());
        for pivot in 0..self.size {
            let head = left.at(pivot, pivot);
            if head.partial_cmp(&0.0) != Some(core::cmp::Ordering::Greater) {
                return None;
            }
            for row in pivot + 1..self.size {
                let times = left.at(row, pivot) / head;
                for column in pivot..self.size {
                    left.put(row, column, left.at(row, column) - times * left.at(pivot, column));
                }
                let above = x.get(pivot).copied()?;
                *x.get_mut(row)? -= times * above;
            }
        }
        for row in (0..self.size).rev() {
            let known: f64 = (row + 1..self.size).map(|it| left.at(row, it) * x.get(it).copied().unwrap_or(0.0)).sum();
            let cell = x.get_mut(row)?;
            *cell = (*cell - known) / left.at(row, row);
        }
        Some(x)
    }

    /// Eigenvalues, and the eigenvectors as columns, by Jacobi's rotations. For symmetric matrices.
    pub(super) fn eigen(&self) -> (Vec<f64>, Self) {
        const MOST_SWEEPS: usize = 50;
        let mut values = self.clone();
        let mut vectors = Self::of(self.size, |row, column| f64::from(u8::from(row == column)));
        let pairs = || (0..self.size).flat_map(|p| (p + 1..self.size).map(move |q| (p, q)));
        for _ in 0..MOST_SWEEPS {
            let rest: f64 = pairs().map(|(p, q)| values.at(p, q).powi(2)).sum();
            let trace: f64 = (0..self.size).map(|it| values.at(it, it).powi(2)).sum();
            if rest <= 1e-30 * trace {
                break;
            }
            for (p, q) in pairs() {
                values.rotate(&mut vectors, p, q);
            }
        }
        ((0..self.size).map(|it| values.at(it, it)).collect(), vectors)
    }

    /// One rotation, after which the cell at (p, q) is 0.
    fn rotate(&mut self, vectors: &mut Self, p: usize, q: usize) {
        if self.at(p, q) == 0.0 {
            return;
        }
        let theta = (self.at(q, q) - self.at(p, p)) / (2.0 * self.at(p, q));
        let sign = if theta < 0.0 { -1.0 } else { 1.0 };
        let tangent = sign / (theta.abs() + (theta * theta + 1.0).sqrt());
        let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
        let sine = tangent * cosine;
        for it in 0..self.size {
            let (a, b) = (self.at(it, p), self.at(it, q));
            self.put(it, p, cosine * a - sine * b);
            self.put(it, q, sine * a + cosine * b);
        }
        for it in 0..self.size {
            let (a, b) = (self.at(p, it), self.at(q, it));
            self.put(p, it, cosine * a - sine * b);
            self.put(q, it, sine * a + cosine * b);
            let (a, b) = (vectors.at(it, p), vectors.at(it, q));
            vectors.put(it, p, cosine * a - sine * b);
            vectors.put(it, q, sine * a + cosine * b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_and_eigenvalues_of_a_known_matrix() {
        let cells = [[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]];
        let matrix = Matrix::of(3, |row, column| cells[row][column]);
        for (x, wanted) in matrix.solve(&[1.0, 0.0, 1.0]).unwrap().iter().zip([1.0, 1.0, 1.0]) {
            assert!((x - wanted).abs() < 1e-12);
        }
        let (mut values, vectors) = matrix.eigen();
        for (place, value) in values.iter().enumerate() {
            for row in 0..3 {
                let left: f64 = (0..3).map(|it| matrix.at(row, it) * vectors.at(it, place)).sum();
                assert!((left - value * vectors.at(row, place)).abs() < 1e-9);
            }
        }
        // 2 - 2 cos(k pi / 4).
        values.sort_by(f64::total_cmp);
        for (value, wanted) in values.iter().zip([2.0 - 2.0_f64.sqrt(), 2.0, 2.0 + 2.0_f64.sqrt()]) {
            assert!((value - wanted).abs() < 1e-9);
        }
        assert_eq!(Matrix::of(2, |_, _| 1.0).solve(&[1.0, 1.0]), None);
    }
}
