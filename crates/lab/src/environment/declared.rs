//! Declarations of a file about its arms, `intercept` and `unit_arms`, in place of the environment's knowledge.

use reticent::{randomize::Intercept, refuse_if};

use super::bandit::BanditEnvironment;
use crate::Result;

impl BanditEnvironment {
    /// The same with what a file declares of its arms in place of what the environment knows: a last feature that all share, or `false`; and
    /// that all have the largest norm, or not. A declaration that the environment's arms contradict is refused.
    pub(crate) fn declaring(
        &self,
        intercept: Option<Intercept>,
        unit_arms: Option<bool>,
    ) -> Result<Self> {
        let mut bounds = self.bounds;
        if let Some(Intercept(declared)) = intercept {
            if let Some(number) = declared {
                let remedy = match bounds.intercept {
                    None => "arms have no constant feature here, so a centred reward is not linear in them: leave it out".into(),
                    Some(constant) => format!("the last feature of all arms here is {constant}; expected that; or leave it out"),
                };
                let near = |constant: f64| (number - constant).abs() <= 1e-9 * constant.abs();
                let refused = !bounds.intercept.is_some_and(near);
                refuse_if(refused, "intercept", number, remedy)?;
            }
            bounds.intercept = declared;
        }
        if let Some(declared) = unit_arms {
            let remedy = "arms of different norms would all be scaled to the largest: leave it out";
            refuse_if(declared && !bounds.unit_arms, "unit_arms", true, remedy)?;
            bounds.unit_arms = declared;
        }
        Ok(BanditEnvironment { bounds, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    const SPHERE: &str = "kind = \"sphere\"\ndimension = 4\narms = 8";
    const GAP: &str = "kind = \"gap\"\ndimension = 4\narms = 8";

    fn environment(lines: &str) -> BanditEnvironment {
        BanditEnvironment::new(&toml::from_str(lines).unwrap(), 400).unwrap()
    }

    #[test]
    fn a_file_may_say_less_than_the_environment_knows_and_nothing_that_is_false() {
        let sphere = environment(SPHERE);
        let constant = 0.5_f64.sqrt();
        assert_eq!((sphere.bounds.intercept, sphere.bounds.unit_arms), (Some(constant), true));
        let less = sphere.declaring(Some(Intercept(None)), Some(false)).unwrap().bounds;
        assert_eq!((less.intercept, less.unit_arms), (None, false));
        let same = sphere.declaring(Some(Intercept(Some(constant))), Some(true)).unwrap().bounds;
        assert_eq!(same, sphere.bounds);
        assert_eq!(sphere.declaring(None, None).unwrap().bounds, sphere.bounds);
        let shorter = sphere.declaring(None, Some(false)).unwrap();
        let error = shorter.declaring(None, Some(true)).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("unit_arms: got true; arms of different norms"), "{error}");
        for (lines, words) in [
            (SPHERE, "intercept: got 0.5; the last feature of all arms here is 0.707"),
            (GAP, "intercept: got 0.5; arms have no constant feature here"),
        ] {
            let declared = Some(Intercept(Some(0.5)));
            let error = environment(lines).declaring(declared, None).map(drop).unwrap_err();
            assert!(error.to_string().starts_with(words), "{error}");
        }
    }

    /// The keys of each kind reach core's learner: declared otherwise, another learner plays.
    #[test]
    fn every_kind_has_the_keys_that_python_has() {
        let regret = |algorithm: &str| {
            let text = format!(
                "name = \"t\"\nrounds = 400\n[environment]\n{SPHERE}\ncircumstances = {{ delay = {{ fixed = 30 }} }}\n[[algorithm]]\nname = \"it\"\n{algorithm}"
            );
            let experiment = Experiment::parse(&text).unwrap();
            experiment.algorithms()[0].trial(1, 0, &[400]).unwrap().curve[0].regret
        };
        let privacy = "privacy = { epsilon = 8.0, delta = 1e-5 }";
        for (kind, key) in [
            ("linucb\"", "intercept = false"),
            ("joint\"", "intercept = false"),
            ("local\"", "intercept = false"),
            ("local\"", "unit_arms = false"),
            ("local\"\nmethod = \"unit_gram\"", "late_models = 0"),
            ("shuffle\"", "intercept = false"),
            ("shuffle\"", "unit_arms = false"),
            ("shuffle\"\nbatch = 20\naggregation = \"sum\"", "honest = 3"),
        ] {
            let privacy = if kind.starts_with("linucb") { "" } else { privacy };
            let lines = format!("kind = \"{kind}\n{privacy}");
            assert_ne!(regret(&lines), regret(&format!("{lines}\n{key}")), "{kind} {key}");
        }
    }
}
