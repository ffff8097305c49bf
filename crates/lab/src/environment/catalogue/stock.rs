//! One trial: arrivals of people, available actions and rewards.
//!
//! The catalogue, the effects, the people and the rewards each have a generator of their own, so that neither choices nor arrivals change who comes.

use std::{collections::HashMap, sync::Arc};

use reticent::{bandit::Arms, features::Value, noise::Noise};

use super::{CataloguePlan, laws::Law, truth::Entries};
use crate::{FastNoise, Result, environment::Environment, play::trial::mix};

/// Numbers of kept arms, at most: 128 MB.
const MOST_KEPT: usize = 1 << 24;

/// A catalogue and the people who come to it.
pub(super) struct Stock {
    plan: Arc<CataloguePlan>,
    /// Draws actions.
    shelf: FastNoise,
    /// Draws people, and contexts of people who do not return.
    people: FastNoise,
    /// Seed of a person's constant features.
    persons: u64,
    rewards: FastNoise,
    /// g, and its norm at the start.
    pub(super) normals: Vec<f64>,
    pub(super) norm: f64,
    pub(super) effects: Vec<f64>,
    /// The records of the actions.
    pub(super) actions: Vec<Value>,
    /// Number of the next action.
    next: u64,
    round: u64,
    person: Option<u64>,
    pub(super) context: Vec<u32>,
    /// Arms by context.
    kept: HashMap<Vec<u32>, Offer>,
    means: Vec<f64>,
}

/// The arms of one context.
struct Offer {
    arms: Arms,
    entries: Vec<Entries>,
}

impl Stock {
    pub(super) fn new(plan: Arc<CataloguePlan>, seed: u64) -> Result<Self> {
        let mut effects = FastNoise::seeded(mix(seed, 1));
        let normals: Vec<f64> =
            (0..plan.truth.draws()).map(|_| effects.standard_normal()).collect();
        let mut stock = Stock {
            shelf: FastNoise::seeded(mix(seed, 2)),
            people: FastNoise::seeded(0),
            persons: 0,
            rewards: FastNoise::seeded(0),
            norm: normals.iter().map(|g| g * g).sum::<f64>().sqrt(),
            normals,
            effects: Vec::new(),
            actions: Vec::new(),
            next: 0,
            round: 0,
            person: None,
            context: Vec::new(),
            kept: HashMap::new(),
            means: Vec::new(),
            plan,
        };
        stock.other_people(seed);
        stock.plan.truth.effects(&stock.normals, &mut stock.effects);
        stock.actions = (0..stock.plan.actions).map(|_| stock.new_action()).collect();
        Ok(stock)
    }

    fn new_action(&mut self) -> Value {
        let (laws, actions) = (&self.plan.action, self.plan.actions);
        let number = self.next;
        self.next += 1;
        let places: Vec<u32> =
            laws.iter().map(|law| law.of_action(number, actions, &mut self.shelf)).collect();
        Law::record(laws, &places)
    }

    /// Withdraws the oldest action, which stands where the newest will.
    fn replace(&mut self) {
        let place = (self.next % self.plan.actions as u64) as usize;
        self.actions[place] = self.new_action();
        self.kept.clear();
    }

    /// Draws the person of a round and their context.
    fn draw(&mut self) {
        let CataloguePlan { context, people, per_event, .. } = &*self.plan;
        self.person = people.map(|people| self.people.below(people));
        let mut own = self.person.map(|person| FastNoise::seeded(mix(self.persons, person)));
        self.context.clear();
        for (law, per_event) in context.iter().zip(per_event) {
            let noise = match &mut own {
                Some(own) if !per_event => own,
                _ => &mut self.people,
            };
            self.context.push(law.draw(noise));
        }
    }

    fn make(&mut self) {
        let CataloguePlan { features, truth, context, actions, .. } = &*self.plan;
        let record = Law::record(context, &self.context);
        let rows = features.rows_alone(&record, &self.actions);
        let arms = Arms::from_rows(features.dimension(), &rows)
            .expect("finite features of the agreed dimension");
        let entries = truth.entries(&record, &self.actions);
        if (self.kept.len() + 1) * actions * features.dimension() > MOST_KEPT {
            self.kept.clear();
        }
        self.kept.insert(self.context.clone(), Offer { arms, entries });
    }
}

impl Environment for Stock {
    fn arms(&mut self) -> &Arms {
        let passed = self.round;
        self.round += 1;
        if passed > 0 && self.plan.replace_every.is_some_and(|every| passed.is_multiple_of(every)) {
            self.replace();
        }
        self.draw();
        if !self.kept.contains_key(&self.context) {
            self.make();
        }
        let offer = &self.kept[&self.context];
        let mean = |entries: &Entries| self.plan.truth.mean(entries, &self.effects);
        self.means.clear();
        self.means.extend(offer.entries.iter().map(mean));
        &offer.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn reward(&mut self, arm: usize) -> f64 {
        f64::from(u8::from(self.rewards.uniform() < self.means[arm]))
    }

    fn direction(&self) -> Option<Vec<f64>> {
        let unit = |normals: &[f64]| normals.iter().map(|g| g / self.norm).collect();
        (self.norm > 0.0).then(|| unit(&self.normals))
    }

    fn face(&mut self, direction: &[f64]) {
        self.normals = direction.iter().map(|entry| entry * self.norm).collect();
        self.plan.truth.effects(&self.normals, &mut self.effects);
    }

    fn person(&self) -> Option<u64> {
        self.person
    }

    fn other_people(&mut self, seed: u64) {
        self.people = FastNoise::seeded(mix(seed, 3));
        self.persons = mix(seed, 4);
        self.rewards = FastNoise::seeded(mix(seed, 5));
    }
}
