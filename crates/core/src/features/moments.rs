//! Second moments of parts: how much of their share of the norm people fill.

use super::{Encoder, Encoding, FeaturesPlan, Part, parts::Factor};

impl FeaturesPlan {
    /// The mean of the squared norm of a part before its weight, where numbers fill their ranges evenly, words are equally common and features are
    /// independent of each other: 1 for categories, 1/3 for a range, the product of its factors for a cross, and for a match of n words 1/n.
    ///
    /// ```
    /// use reticent::features::{Encoding, FeaturesParams};
    /// let words = Encoding::Categories(vec!["a".into(), "b".into()]);
    /// let plan = FeaturesParams::new([("age", Encoding::Range(0.0, 1.0))], [("topic", words)]).check()?;
    /// let moments: Vec<f64> = plan.parts().iter().map(|part| plan.moment(part)).collect();
    /// assert_eq!(moments, [1.0 / 3.0, 1.0]);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn moment(&self, part: &Part) -> f64 {
        part.factors.iter().map(|factor| self.factor_moment(*factor)).product()
    }

    fn factor_moment(&self, factor: Factor) -> f64 {
        match factor {
            Factor::Context(place) => of_feature(&self.context[place].1),
            Factor::Action(place) => of_feature(&self.action[place].1),
            Factor::Match(left, _) => 1.0 / self.context[left].1.dimension() as f64,
            Factor::Fourier => 1.0,
            Factor::Products => self.moment_of_products(),
        }
    }

    /// `E |v|^4` for `|v|^2` the mean of the squared numbers, and with degree 3 half of it and half of its power 3/2.
    fn moment_of_products(&self) -> f64 {
        let all = self.context.iter().chain(&self.action).map(|(_, encoder)| encoder);
        let numbers: Vec<&Encoder> = all.filter(|encoder| encoder.is_number()).collect();
        let count = numbers.len() as f64;
        let mean = numbers.iter().map(|encoder| of_feature(encoder)).sum::<f64>() / count;
        // The square of a number that is uniform on [-1, 1] has the variance 1/5 - 1/9; that of a cycle is always 1.
        let ranges =
            numbers.iter().filter(|encoder| matches!(encoder.encoding(), Encoding::Range(..)));
        let variance = ranges.count() as f64 * (4.0 / 45.0) / (count * count);
        let fourth = mean * mean + variance;
        match self.params.products.as_ref().map(|products| products.degree) {
            Some(3) => 0.5 * (fourth + fourth * fourth.sqrt()),
            _ => fourth,
        }
    }
}

fn of_feature(encoder: &Encoder) -> f64 {
    match encoder.encoding() {
        Encoding::Range(..) => 1.0 / 3.0,
        Encoding::Categories(_)
        | Encoding::Hash { .. }
        | Encoding::Cycle(_)
        | Encoding::Bins(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use crate::features::{FeaturesParams, Report, Value};

    /// Means over a grid of records are the stated moments.
    #[test]
    fn moments_are_means_over_records() {
        let params: FeaturesParams = serde_json::from_value(serde_json::json!({
            "products": { "degree": 2 },
            "context": {
                "age": { "range": [0, 1] },
                "hour": { "cycle": 24 },
                "liked": { "categories": ["a", "b", "c"] },
            },
            "action": {
                "genre": { "categories": ["a", "b", "c"] },
                "length": { "range": [0, 1] },
            },
            "cross": { "with": [["age", "genre"], ["age", "length"]], "match": [["liked", "genre"]] },
        }))
        .unwrap();
        let plan = params.check().unwrap();
        let mut sums = vec![0.0; plan.parts().len()];
        let (steps, mut records, mut report) = (24, 0.0, Report::default());
        let middle = |i: usize| ((i as f64 + 0.5) / steps as f64).to_string();
        for (i, j) in (0..steps).flat_map(|i| (0..steps).map(move |j| (i, j))) {
            for (hour, left, right) in (0..4).flat_map(|h| (0..9).map(move |w| (h, w / 3, w % 3))) {
                let word = |place: usize| ["a", "b", "c"][place].to_string();
                let context = Value::from_iter([
                    ("age", middle(i)),
                    ("hour", (6 * hour).to_string()),
                    ("liked", word(left)),
                ]);
                let action = Value::from_iter([("genre", word(right)), ("length", middle(j))]);
                let row = plan.vector(&context, &action, &mut report);
                for (sum, part) in sums.iter_mut().zip(plan.parts()) {
                    let place = part.offset..part.offset + part.cells;
                    *sum += row[place].iter().map(|x| x * x).sum::<f64>() / part.weight.powi(2);
                }
                records += 1.0;
            }
        }
        for (sum, part) in sums.iter().zip(plan.parts()) {
            let (mean, stated) = (sum / records, plan.moment(part));
            assert!((mean / stated - 1.0).abs() < 0.01, "{}: {mean} {stated}", part.name);
        }
    }
}
