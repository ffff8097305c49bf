//! Small dense linear programs by the simplex method, with certificates.
//!
//! ```text
//! maximise c x   subject to   A x <= b,  x >= 0
//! ```
//!
//! The state is Chvatal's dictionary (Linear Programming, 1983, chapters 2, 3 and 7): every basic variable expressed by the nonbasic ones.
//! It is half the size of a tableau, and a column can be added at any time, as column generation requires, because the columns of the
//! slacks are the inverse of the basis. If some b is negative, one artificial variable finds a first dictionary.
//!
//! **Ties.** Among optima, the one with the largest second objective is chosen: when no column improves the first objective, columns that
//! leave it unchanged may still enter to improve the second.
//!
//! **Degeneracy.** The steepest column enters; after a run of steps without progress Bland's rule (smallest index in, smallest
//! index out) takes over, which cannot cycle.
//!
//! **Certificates.** An optimum comes with multipliers `y >= 0`, `y A >= c`, `y b = c x`; an unbounded program with a
//! direction `x >= 0`, `A x <= 0`, `c x > 0`; an infeasible one with Farkas multipliers `y >= 0`, `y A >= 0`, `y b < 0`.

/// Entries below this, relative to a program scaled to about 1, are taken for rounding errors.
const ZERO: f64 = 1e-11;
/// Smaller pivots would magnify rounding errors.
const SMALLEST_PIVOT: f64 = 1e-9;
/// Steps without progress before Bland's rule takes over.
const PATIENCE: usize = 12;

/// End of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Status {
    /// The dictionary is optimal.
    Optimal,
    /// The column at this position of the nonbasic variables can grow without bound.
    Unbounded {
        /// Position among the nonbasic variables.
        column: usize,
    },
    /// No point satisfies the rows; the multipliers prove it.
    Infeasible,
    /// The method did not end because of rounding errors: there is no answer.
    Stalled,
}

/// A dictionary: `x_basic = b - A x_nonbasic`, and two objectives below.
///
/// Variables `0..rows` are the slacks, variable `rows + k` is the k-th column pushed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dictionary {
    rows: usize,
    /// Room for columns in each row.
    stride: usize,
    /// Rows, then the objective, then the second objective, each `stride` long.
    entries: Vec<f64>,
    bounds: Vec<f64>,
    basic: Vec<usize>,
    nonbasic: Vec<usize>,
    /// Place of each slack: in the basis at a row, or outside at a column.
    slacks: Vec<Place>,
    pushed: usize,
    scratch: Vec<f64>,
    steps: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Basic(usize),
    Outside(usize),
}

impl Dictionary {
    /// Resets the dictionary to these bounds and no columns.
    pub(crate) fn restart(&mut self, bounds: &[f64]) {
        let rows = bounds.len();
        self.rows = rows;
        self.bounds.clear();
        self.bounds.extend_from_slice(bounds);
        self.basic.clear();
        self.basic.extend(0..rows);
        self.slacks.clear();
        self.slacks.extend((0..rows).map(Place::Basic));
        self.nonbasic.clear();
        self.pushed = 0;
        self.steps = 0;
        self.stride = self.stride.max(8);
        self.entries.clear();
        self.entries.resize((rows + 2) * self.stride, 0.0);
    }

    /// Adds a column with its entries in the two objectives, and returns its variable.
    pub(crate) fn push(&mut self, objective: f64, second: f64, column: &[f64]) -> usize {
        let at = self.nonbasic.len();
        if at == self.stride {
            self.widen();
        }
        let variable = self.rows + self.pushed;
        self.pushed += 1;
        self.nonbasic.push(variable);
        // B^-1 a and the reduced costs c - c_B B^-1 a: combinations of the slacks' columns.
        let (rows, stride) = (self.rows, self.stride);
        let mut new = std::mem::take(&mut self.scratch);
        new.clear();
        new.resize(rows + 2, 0.0);
        new[rows] = objective;
        new[rows + 1] = second;
        for (&place, &entry) in self.slacks.iter().zip(column) {
            if entry == 0.0 {
                continue;
            }
            match place {
                Place::Basic(row) => new[row] += entry,
                Place::Outside(slack) => {
                    for (value, row) in new.iter_mut().zip(self.entries.chunks_exact(stride)) {
                        *value += entry * row[slack];
                    }
                }
            }
        }
        for (value, row) in new.iter().zip(self.entries.chunks_exact_mut(stride)) {
            row[at] = *value;
        }
        self.scratch = new;
        variable
    }

    fn widen(&mut self) {
        let (old, new) = (self.stride, 2 * self.stride);
        let mut entries = vec![0.0; (self.rows + 2) * new];
        for (to, from) in entries.chunks_exact_mut(new).zip(self.entries.chunks_exact(old)) {
            to[..old].copy_from_slice(from);
        }
        self.entries = entries;
        self.stride = new;
    }

    /// Number of columns in the dictionary.
    pub(crate) fn columns(&self) -> usize {
        self.nonbasic.len()
    }

    /// Drops nonbasic pushed columns whose reduced cost is below `-threshold`.
    pub(crate) fn prune(&mut self, threshold: f64) {
        let mut column = 0;
        while column < self.nonbasic.len() {
            let cost = self.entries[self.rows * self.stride + column];
            if self.nonbasic[column] >= self.rows && cost < -threshold {
                let last = self.nonbasic.len() - 1;
                for row in self.entries.chunks_exact_mut(self.stride) {
                    row[column] = row[last];
                }
                self.nonbasic.swap_remove(column);
                if column < self.nonbasic.len() && self.nonbasic[column] < self.rows {
                    self.slacks[self.nonbasic[column]] = Place::Outside(column);
                }
            } else {
                column += 1;
            }
        }
    }

    /// Runs to the end.
    pub(crate) fn solve(&mut self) -> Status {
        // Bounds slightly below zero are rounding errors and set to zero, also those that earlier pivots left when columns are added to an
        // optimum.
        let rounding = 1e-12 * self.bounds.iter().fold(1e-300, |most: f64, b| most.max(b.abs()));
        let mut infeasible = false;
        for bound in &mut self.bounds {
            if *bound < 0.0 && *bound >= -rounding.max(if self.steps > 0 { 1e-9 } else { 0.0 }) {
                *bound = 0.0;
            }
            infeasible |= *bound < 0.0;
        }
        if infeasible {
            // A program can be infeasible only before the first pivot; later a negative bound is a rounding error.
            if self.steps > 0 {
                return Status::Stalled;
            }
            match self.find_feasible() {
                Status::Optimal => {}
                status => return status,
            }
        }
        match self.climb(0) {
            Status::Optimal => match self.climb(1) {
                // An unbounded second objective does not change the optimum of the first.
                Status::Unbounded { .. } => Status::Optimal,
                status => status,
            },
            status => status,
        }
    }

    /// Steps taken since the start.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Improves objective 0, or objective 1 without reducing objective 0.
    fn climb(&mut self, level: usize) -> Status {
        let mut stuck = 0;
        let limit = 50 * (self.rows + self.nonbasic.len()) + 1000;
        for _ in 0..limit {
            let Some(column) = self.entering(level, stuck > PATIENCE) else {
                return Status::Optimal;
            };
            let Some(row) = self.leaving(column, stuck > PATIENCE) else {
                return Status::Unbounded { column };
            };
            stuck = if self.bounds[row] > ZERO { 0 } else { stuck + 1 };
            self.pivot(row, column);
        }
        Status::Stalled
    }

    fn entering(&self, level: usize, bland: bool) -> Option<usize> {
        let objective = |level: usize| &self.entries[(self.rows + level) * self.stride..];
        let first = objective(0);
        let costs = objective(level);
        let mut best: Option<usize> = None;
        for column in 0..self.nonbasic.len() {
            if costs[column] <= ZERO || level == 1 && first[column] < -ZERO {
                continue;
            }
            let better = |other: usize| {
                if bland {
                    self.nonbasic[column] < self.nonbasic[other]
                } else {
                    costs[column] > costs[other]
                }
            };
            if best.is_none_or(better) {
                best = Some(column);
            }
        }
        best
    }

    fn leaving(&self, column: usize, bland: bool) -> Option<usize> {
        let mut best: Option<(usize, f64, f64)> = None;
        for row in 0..self.rows {
            let entry = self.entries[row * self.stride + column];
            if entry <= SMALLEST_PIVOT {
                continue;
            }
            let ratio = self.bounds[row].max(0.0) / entry;
            let better = best.is_none_or(|(other, least, pivot)| {
                if (ratio - least).abs() > 1e-14 * least.max(1e-300) {
                    ratio < least
                } else if bland {
                    self.basic[row] < self.basic[other]
                } else {
                    // Among ties the largest pivot has the smallest rounding error.
                    entry > pivot
                }
            });
            if better {
                best = Some((row, ratio, entry));
            }
        }
        best.map(|(row, _, _)| row)
    }

    fn pivot(&mut self, row: usize, column: usize) {
        let (stride, width) = (self.stride, self.nonbasic.len());
        self.steps += 1;
        let start = row * stride;
        let inverse = 1.0 / self.entries[start + column];
        let mut pivot_row = std::mem::take(&mut self.scratch);
        pivot_row.clear();
        pivot_row.extend(self.entries[start..start + width].iter().map(|entry| entry * inverse));
        let step = self.bounds[row].max(0.0) * inverse;
        for (index, line) in self.entries.chunks_exact_mut(stride).enumerate() {
            if index == row {
                continue;
            }
            let line = &mut line[..width];
            let factor = line[column];
            if factor == 0.0 {
                continue;
            }
            for (entry, pivot) in line.iter_mut().zip(&pivot_row) {
                *entry -= factor * pivot;
            }
            line[column] = -factor * inverse;
            if index < self.rows {
                // After a tie the bound is zero up to rounding; a negative value would look infeasible.
                self.bounds[index] = (self.bounds[index] - factor * step).max(0.0);
            }
        }
        pivot_row[column] = inverse;
        self.entries[start..start + width].copy_from_slice(&pivot_row);
        self.scratch = pivot_row;
        self.bounds[row] = step;
        let (leaving, entering) = (self.basic[row], self.nonbasic[column]);
        self.basic[row] = entering;
        self.nonbasic[column] = leaving;
        if leaving < self.rows {
            self.slacks[leaving] = Place::Outside(column);
        }
        if entering < self.rows {
            self.slacks[entering] = Place::Basic(row);
        }
    }

    /// Phase one: minimises one artificial variable that relaxes every row. `Optimal` if it reached zero.
    ///
    /// On failure the first objective's row is that of the artificial problem, so that [`Dictionary::multiplier`] gives
    /// Farkas multipliers.
    fn find_feasible(&mut self) -> Status {
        let (rows, stride) = (self.rows, self.stride);
        let kept: Vec<(usize, f64, f64)> = (0..self.nonbasic.len())
            .map(|column| {
                let at = |level: usize| self.entries[(rows + level) * stride + column];
                (self.nonbasic[column], at(0), at(1))
            })
            .collect();
        self.entries[rows * stride..].fill(0.0);
        let artificial = self.push(-1.0, 0.0, &vec![-1.0; rows]);
        // The artificial column is not counted as pushed: it is never visited, and its number is reused once it is removed.
        self.pushed -= 1;
        let column = self.nonbasic.len() - 1;
        let worst = (0..rows).min_by(|&i, &j| self.bounds[i].total_cmp(&self.bounds[j]));
        let Some(worst) = worst else { return Status::Optimal };
        self.enter_artificial(worst, column);
        let scale = self.bounds.iter().fold(1.0, |most: f64, b| most.max(b.abs()));
        let status = self.climb(0);
        let relaxed = self.value(artificial);
        match status {
            Status::Optimal if relaxed > 1e-9 * scale => return Status::Infeasible,
            Status::Optimal => {}
            // The artificial objective is bounded by 0; anything else is a rounding error.
            _ => return Status::Stalled,
        }
        self.expel(artificial);
        // Restore the true objectives: c - c_B B^-1 A, row by row of the basis.
        let (rows, stride) = (self.rows, self.stride);
        self.entries[rows * stride..].fill(0.0);
        for (variable, first, second) in kept {
            if let Some(column) = self.nonbasic.iter().position(|&other| other == variable) {
                self.entries[rows * stride + column] += first;
                self.entries[(rows + 1) * stride + column] += second;
            } else if let Some(row) = self.basic.iter().position(|&other| other == variable) {
                for column in 0..self.nonbasic.len() {
                    let entry = self.entries[row * stride + column];
                    self.entries[rows * stride + column] -= first * entry;
                    self.entries[(rows + 1) * stride + column] -= second * entry;
                }
            }
        }
        Status::Optimal
    }

    /// The first step of phase one: the artificial variable enters in the most violated row, and all bounds become >= 0.
    fn enter_artificial(&mut self, row: usize, column: usize) {
        let lift = -self.bounds[row];
        // Every artificial entry is -1, so the pivot adds `lift` to all other rows.
        let others: Vec<f64> = self.bounds.iter().map(|b| (b + lift).max(0.0)).collect();
        self.bounds.fill(0.0);
        self.pivot(row, column);
        self.bounds.copy_from_slice(&others);
        self.bounds[row] = lift;
    }

    /// Removes the artificial variable, which is zero, from the program.
    fn expel(&mut self, artificial: usize) {
        if let Some(row) = self.basic.iter().position(|&variable| variable == artificial) {
            let line = &self.entries[row * self.stride..][..self.nonbasic.len()];
            let largest = (0..line.len()).max_by(|&i, &j| line[i].abs().total_cmp(&line[j].abs()));
            if let Some(column) = largest {
                self.bounds[row] = 0.0;
                self.pivot(row, column);
            }
        }
        if let Some(column) = self.nonbasic.iter().position(|&variable| variable == artificial) {
            let last = self.nonbasic.len() - 1;
            for row in self.entries.chunks_exact_mut(self.stride) {
                row[column] = row[last];
            }
            self.nonbasic.swap_remove(column);
            if column < self.nonbasic.len() && self.nonbasic[column] < self.rows {
                self.slacks[self.nonbasic[column]] = Place::Outside(column);
            }
        }
    }

    /// The value of a variable.
    pub(crate) fn value(&self, variable: usize) -> f64 {
        let row = self.basic.iter().position(|&other| other == variable);
        row.map_or(0.0, |row| self.bounds[row].max(0.0))
    }

    /// Calls `visit(k, value)` for every pushed column k with a value above 0.
    pub(crate) fn for_each_value(&self, mut visit: impl FnMut(usize, f64)) {
        for (&variable, &bound) in self.basic.iter().zip(&self.bounds) {
            if (self.rows..self.rows + self.pushed).contains(&variable) && bound > 0.0 {
                visit(variable - self.rows, bound);
            }
        }
    }

    /// The multiplier of a row: how fast the objective grows with its bound.
    pub(crate) fn multiplier(&self, row: usize) -> f64 {
        match self.slacks[row] {
            Place::Basic(_) => 0.0,
            Place::Outside(column) => (-self.entries[self.rows * self.stride + column]).max(0.0),
        }
    }

    /// Growth of the pushed columns along an unbounded nonbasic column, as (column, rate).
    pub(crate) fn direction(&self, column: usize) -> Vec<(usize, f64)> {
        let mut direction = Vec::new();
        let mut add = |variable: usize, rate: f64| {
            if (self.rows..self.rows + self.pushed).contains(&variable) {
                direction.push((variable - self.rows, rate));
            }
        };
        add(self.nonbasic[column], 1.0);
        for (row, &variable) in self.basic.iter().enumerate() {
            add(variable, -self.entries[row * self.stride + column]);
        }
        direction
    }
}

/// The outcome of a program over free variables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// The largest value, where it is attained, and the rows' multipliers.
    Optimal {
        /// `c y`.
        value: f64,
        /// The point where it is attained.
        point: Vec<f64>,
        /// `z >= 0` with `z A = c`, `z b = c y`.
        multipliers: Vec<f64>,
    },
    /// `c y` is unbounded along this direction.
    Unbounded {
        /// `A y <= 0`, `c y > 0`.
        direction: Vec<f64>,
    },
    /// Infeasible: `z >= 0`, `z A = 0`, `z b < 0`.
    Infeasible {
        /// The Farkas multipliers.
        multipliers: Vec<f64>,
    },
    /// No answer because of rounding errors.
    Stalled,
}

/// `max c y` subject to `A y <= b`, y free: rows are scaled to 1, y is split in two.
pub(crate) fn maximize(rows: &[Vec<f64>], bounds: &[f64], objective: &[f64]) -> Outcome {
    let scales: Vec<f64> = rows
        .iter()
        .map(|row| row.iter().fold(0.0, |most: f64, a| most.max(a.abs())))
        .map(|scale| if scale > 0.0 { 1.0 / scale } else { 1.0 })
        .collect();
    let scaled: Vec<f64> = bounds.iter().zip(&scales).map(|(b, scale)| b * scale).collect();
    let largest = objective.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
    let objective_scale = if largest > 0.0 { 1.0 / largest } else { 1.0 };
    let dimension = objective.len();
    let mut dictionary = Dictionary::default();
    dictionary.restart(&scaled);
    let mut column = vec![0.0; rows.len()];
    for (j, c) in objective.iter().enumerate() {
        for sign in [1.0, -1.0] {
            for (entry, (row, scale)) in column.iter_mut().zip(rows.iter().zip(&scales)) {
                *entry = sign * row[j] * scale;
            }
            dictionary.push(sign * c * objective_scale, 0.0, &column);
        }
    }
    let status = dictionary.solve();
    let mut point = vec![0.0; dimension];
    let mut add = |pushed: usize, value: f64| {
        point[pushed / 2] += if pushed.is_multiple_of(2) { value } else { -value };
    };
    let multipliers = |unit: f64| -> Vec<f64> {
        let of = |(row, scale): (usize, &f64)| dictionary.multiplier(row) * scale * unit;
        scales.iter().enumerate().map(of).collect()
    };
    match status {
        Status::Optimal => {
            dictionary.for_each_value(&mut add);
            let value = point.iter().zip(objective).map(|(y, c)| y * c).sum();
            Outcome::Optimal { value, point, multipliers: multipliers(1.0 / objective_scale) }
        }
        Status::Unbounded { column } => {
            dictionary.direction(column).into_iter().for_each(|(k, rate)| add(k, rate));
            Outcome::Unbounded { direction: point }
        }
        Status::Infeasible => Outcome::Infeasible { multipliers: multipliers(1.0) },
        Status::Stalled => Outcome::Stalled,
    }
}

#[cfg(test)]
mod tests;
